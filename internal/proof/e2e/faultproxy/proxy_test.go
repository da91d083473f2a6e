package faultproxy_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/faultproxy"
)

// server answers every call with the same text, and keeps what it was asked.
type server struct {
	mu     sync.Mutex
	answer string
	asked  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		panic(err)
	}
	s.asked = append(s.asked, string(body))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = io.WriteString(w, s.answer)
}

// rig is a proxy before a server, and SDK clients that don't try again.
type rig struct {
	*testing.T
	server *server
	proxy  *faultproxy.Proxy
	db     *dynamodb.Client
	sqs    *sqs.Client
}

func newRig(t *testing.T, answer string, rates faultproxy.Rates) *rig {
	t.Helper()
	s := &server{answer: answer}
	behind := httptest.NewServer(s)
	t.Cleanup(behind.Close)
	p, err := faultproxy.Start(behind.URL, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.Set(rates)
	config := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), BaseEndpoint: &p.URL,
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	return &rig{t, s, p, dynamodb.NewFromConfig(config), sqs.NewFromConfig(config)}
}

// always is a share that the seed's first draws stay below.
const always = 0.999999

func (r *rig) get() error {
	_, err := r.db.GetItem(r.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}})
	return err
}

func TestACallIsPassedOnAsItIs(t *testing.T) {
	r := newRig(t, `{"Item":{"pk":{"S":"<&>"}}}`, faultproxy.Rates{})
	out, err := r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "<&>"}}})
	if err != nil || out.Item["pk"].(*types.AttributeValueMemberS).Value != "<&>" {
		t.Errorf("%v, %v", out, err)
	}
	if n := r.proxy.Counts(); n != (faultproxy.Counts{Calls: 1}) {
		t.Errorf("%+v", n)
	}
}

func TestThrottledCallsDoNotReachTheServer(t *testing.T) {
	r := newRig(t, `{}`, faultproxy.Rates{Throttle: always})
	codes := map[string]int{}
	for range 40 {
		var refused smithy.APIError
		if err := r.get(); !errors.As(err, &refused) {
			t.Fatalf("the error is %v", err)
		}
		codes[refused.ErrorCode()]++
	}
	if len(codes) != 2 || codes["ProvisionedThroughputExceededException"] < 5 || codes["ThrottlingException"] < 5 || len(r.server.asked) != 0 {
		t.Errorf("%v, and the server was asked %d times", codes, len(r.server.asked))
	}
	_, err := r.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(r.proxy.URL + "/q"), MessageBody: aws.String("m")})
	var refused *sqstypes.RequestThrottled
	if !errors.As(err, &refused) {
		t.Errorf("SQS refuses with %v", err)
	}
}

func TestAThrottledTransactionNamesTheItem(t *testing.T) {
	r := newRig(t, `{}`, faultproxy.Rates{Throttle: always})
	put := types.TransactWriteItem{Put: &types.Put{TableName: aws.String("t"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}}}
	codes := map[string]int{}
	for range 20 {
		_, err := r.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put, put, put}})
		var cancelled *types.TransactionCanceledException
		if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != 3 {
			t.Fatalf("the error is %v", err)
		}
		for _, reason := range cancelled.CancellationReasons {
			codes[aws.ToString(reason.Code)]++
		}
	}
	if codes["None"] != 40 || codes["ThrottlingError"] == 0 || codes["ThrottlingError"]+codes["ProvisionedThroughputExceeded"] != 20 {
		t.Errorf("%v", codes)
	}
}

func TestALostAnswerIsOfACallThatWasCarriedOut(t *testing.T) {
	r := newRig(t, `{}`, faultproxy.Rates{Lose: always})
	err := r.get()
	var answered smithy.APIError
	if err == nil || errors.As(err, &answered) {
		t.Errorf("the error is %v", err)
	}
	if n := len(r.server.asked); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	if n := r.proxy.Counts(); n != (faultproxy.Counts{Calls: 1, Lost: 1}) {
		t.Errorf("%+v", n)
	}
}

func TestTheSDKTriesAgainAfterALostAnswer(t *testing.T) {
	r := newRig(t, `{}`, faultproxy.Rates{Lose: 0.5})
	r.db = dynamodb.NewFromConfig(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), BaseEndpoint: &r.proxy.URL},
		func(o *dynamodb.Options) {
			o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts, s.MaxBackoff = 20, 1 })
		})
	for range 20 {
		if err := r.get(); err != nil {
			t.Fatal(err)
		}
	}
	n := r.proxy.Counts()
	if n.Lost == 0 || n.Calls != 20+n.Lost || int64(len(r.server.asked)) != n.Calls {
		t.Errorf("%+v, and the server was asked %d times", n, len(r.server.asked))
	}
}

func TestABatchOfMessagesIsSentInPart(t *testing.T) {
	r := newRig(t, `{"Successful":[],"Failed":[]}`, faultproxy.Rates{Throttle: always})
	in := &sqs.SendMessageBatchInput{QueueUrl: aws.String(r.proxy.URL + "/q")}
	for i := range 10 {
		in.Entries = append(in.Entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: aws.String(fmt.Sprint("body-", i))})
	}
	out, err := r.sqs.SendMessageBatch(t.Context(), in, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
	if err != nil || len(r.server.asked) != 1 {
		t.Fatalf("%v, and the server was asked %d times", err, len(r.server.asked))
	}
	sent := strings.Count(r.server.asked[0], "body-")
	if sent == 0 || len(out.Failed) == 0 || sent+len(out.Failed) != 10 {
		t.Errorf("%d were sent and %d refused", sent, len(out.Failed))
	}
	for _, f := range out.Failed {
		if strings.Contains(r.server.asked[0], "body-"+*f.Id) {
			t.Errorf("%s was sent and refused", *f.Id)
		}
	}
}

func TestBatchesOfItemsAreHandledInPart(t *testing.T) {
	r := newRig(t, `{"Responses":{"t":[]},"UnprocessedKeys":{}}`, faultproxy.Rates{Throttle: always})
	var keys []map[string]types.AttributeValue
	var puts []types.WriteRequest
	for i := range 10 {
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("key-", i)}}
		keys, puts = append(keys, key), append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: key}})
	}
	out, err := r.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"t": {Keys: keys, ConsistentRead: aws.Bool(true)}}})
	if err != nil {
		t.Fatal(err)
	}
	left := out.UnprocessedKeys["t"]
	if n := strings.Count(r.server.asked[0], "key-"); n == 0 || n == 10 || n+len(left.Keys) != 10 || !aws.ToBool(left.ConsistentRead) {
		t.Errorf("%d were read and %d left", n, len(left.Keys))
	}
	wrote, err := r.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"t": puts}})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.server.asked[1], "key-"); n == 0 || n == 10 || n+len(wrote.UnprocessedItems["t"]) != 10 {
		t.Errorf("%d were written and %d left", n, len(wrote.UnprocessedItems["t"]))
	}
	if n := r.proxy.Counts(); n.Partial != 2 || n.Throttled != 0 {
		t.Errorf("%+v", n)
	}
}

func TestOneSeedMakesTheSameFaults(t *testing.T) {
	var stories [2]string
	for i := range stories {
		r := newRig(t, `{}`, faultproxy.Rates{Throttle: 0.3, Lose: 0.3})
		for range 50 {
			err := r.get()
			var refused smithy.APIError
			switch {
			case errors.As(err, &refused):
				stories[i] += refused.ErrorCode()[:1]
			case err != nil:
				stories[i] += "-"
			default:
				stories[i] += "+"
			}
		}
	}
	if stories[0] != stories[1] || !strings.Contains(stories[0], "P") || !strings.Contains(stories[0], "-") || !strings.Contains(stories[0], "+") {
		t.Errorf("%s\n%s", stories[0], stories[1])
	}
}
