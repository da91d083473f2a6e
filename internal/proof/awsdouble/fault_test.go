package awsdouble_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// once is a rule that gives the fault to the first request of the operation.
func once(operation string, f awsdouble.Fault) func(awsdouble.Call) awsdouble.Fault {
	var mu sync.Mutex
	done := false
	return func(c awsdouble.Call) awsdouble.Fault {
		mu.Lock()
		defer mu.Unlock()
		if done || c.Operation != operation {
			return awsdouble.Fault{}
		}
		done = true
		return f
	}
}

// single is a client that tries once.
func (r *rig) single() *dynamodb.Client {
	return dynamodb.NewFromConfig(r.d.Config(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

func (r *rig) bump(db *dynamodb.Client) error {
	_, err := db.UpdateItem(r.t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(table), Key: key("a", "1"), UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: item{":one": &num{Value: "1"}}})
	return err
}

func (r *rig) n() string {
	if n, ok := r.get(key("a", "1"))["n"].(*num); ok {
		return n.Value
	}
	return "none"
}

func TestFaultsBeforeAndAfterTheWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault awsdouble.Fault
		code  string // empty: the connection breaks
		n     string // what is there after one try
	}{
		{"throttle", awsdouble.Throttle(), "ProvisionedThroughputExceededException", "none"},
		{"rate limit", awsdouble.RateLimit(), "ThrottlingException", "none"},
		{"internal error", awsdouble.InternalError(), "InternalServerError", "none"},
		{"internal error after", awsdouble.InternalErrorAfter(), "InternalServerError", "1"},
		{"conflict", awsdouble.Conflict(), "TransactionConflictException", "none"},
		{"lost reply", awsdouble.LoseReply(), "", "1"},
		{"lost request", awsdouble.LoseRequest(), "", "none"},
		{"held", awsdouble.Hold(), "", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.d.Fail(once("UpdateItem", c.fault))
			err := r.bump(r.single())
			var lost interface{ Timeout() bool } // what a broken connection is
			if c.code != "" && code(err) != c.code || c.code == "" && !errors.As(err, &lost) {
				t.Errorf("answered %v, want %q", err, c.code)
			}
			if got := r.n(); got != c.n {
				t.Errorf("n is %s, want %s", got, c.n)
			}
		})
	}
}

func TestARetryAfterALostReplyDoesItTwice(t *testing.T) {
	r := newRig(t)
	var attempts []int
	lose := once("UpdateItem", awsdouble.LoseReply())
	r.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" {
			attempts = append(attempts, c.Attempt)
			if c.Name != table || c.Key != "a|1" {
				t.Errorf("the rule was told of %s in %s", c.Key, c.Name)
			}
		}
		return lose(c)
	})
	if err := r.bump(r.db); err != nil {
		t.Fatal(err)
	}
	if got := r.n(); got != "2" || !slices.Equal(attempts, []int{1, 2}) {
		t.Errorf("n is %s after attempts %v", got, attempts)
	}
}

func TestACopyLandsAfterOtherWrites(t *testing.T) {
	r := newRig(t)
	r.put(with(key("a", "1"), item{"n": &num{Value: "0"}}))
	r.d.Fail(once("UpdateItem", awsdouble.Copy()))
	if err := r.bump(r.db); err != nil {
		t.Fatal(err)
	}
	r.put(with(key("a", "1"), item{"n": &num{Value: "40"}}))
	if landed := r.d.Release(); landed != 1 || r.d.Held() != 0 {
		t.Errorf("%d landed, %d still held", landed, r.d.Held())
	}
	if got := r.n(); got != "41" {
		t.Errorf("n is %s, want what came between and the copy: 41", got)
	}
}

func TestAHeldWriteIsRefusedByItsConditionWhenItLands(t *testing.T) {
	r := newRig(t)
	create := func(db *dynamodb.Client) error {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: key("a", "1"), ConditionExpression: aws.String("attribute_not_exists(pk)")})
		return err
	}
	r.d.Fail(once("PutItem", awsdouble.Hold()))
	if err := create(r.db); err != nil { // the SDK's second try is the one that counts
		t.Fatal(err)
	}
	if landed := r.d.Release(); landed != 0 {
		t.Errorf("%d landed, though the item was there", landed)
	}
}

func TestARuleMayPutARequestBetween(t *testing.T) {
	r := newRig(t)
	r.put(with(key("a", "1"), item{"n": &num{Value: "1"}}))
	inside := false
	r.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" && !inside {
			inside = true
			if err := r.bump(r.db); err != nil {
				t.Error(err)
			}
		}
		return awsdouble.Fault{}
	})
	_, err := r.update(t.Context(), key("a", "1"), "SET n = :v", "n = :was", "", item{":v": &num{Value: "9"}, ":was": &num{Value: "1"}})
	wantCode(t, err, "ConditionalCheckFailedException", "")
}

func TestFaultsOfTransactionsAreCancellations(t *testing.T) {
	r := newRig(t)
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String(table), Item: key("a", "1")}}, {Put: &types.Put{TableName: aws.String(table), Item: key("b", "1")}}}}
	for f, want := range map[awsdouble.Fault]string{awsdouble.Conflict(): "TransactionConflict", awsdouble.Throttle(): "ThrottlingError"} {
		r.d.Fail(once("TransactWriteItems", f))
		_, err := r.single().TransactWriteItems(t.Context(), in)
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) || len(canceled.CancellationReasons) != 2 || *canceled.CancellationReasons[0].Code != want {
			t.Errorf("answered %v, want a cancellation for %s", err, want)
		}
	}
	if it := r.get(key("a", "1")); it != nil {
		t.Errorf("a cancelled transaction left %v", it)
	}
}

func TestATransactionWhoseReplyIsLostIsDoneOnce(t *testing.T) {
	r := newRig(t)
	r.d.Fail(once("TransactWriteItems", awsdouble.LoseReply()))
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{{Update: &types.Update{
		TableName: aws.String(table), Key: key("a", "1"), UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: item{":one": &num{Value: "1"}}}}}}
	for range 2 {
		if _, err := r.db.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.n(); got != "1" {
		t.Errorf("n is %s after three requests under one token", got)
	}
	r.now = r.now.Add(10 * time.Minute)
	if _, err := r.db.TransactWriteItems(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got := r.n(); got != "2" {
		t.Errorf("n is %s: a token counts for ten minutes", got)
	}
}

func TestATableIsThrottledForAWhile(t *testing.T) {
	r := newRig(t)
	r.d.ThrottleFor(table, r.now, r.now.Add(time.Minute))
	wantCode(t, r.bump(r.single()), "ProvisionedThroughputExceededException", "")
	r.now = r.now.Add(time.Minute)
	if err := r.bump(r.single()); err != nil {
		t.Errorf("after the minute: %v", err)
	}
}

func TestAnIndexAnswersAsOfWritesAgo(t *testing.T) {
	r := newRig(t)
	due := func() (n int) {
		out, err := r.db.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String(table), IndexName: aws.String("due"), KeyConditionExpression: aws.String("dsh = :d"),
			ExpressionAttributeValues: item{":d": &str{Value: "D#0"}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Items)
	}
	r.d.IndexLag(2)
	var seen []int
	for i := range 4 {
		r.put(with(key(fmt.Sprint("r", i), "#H"), item{"dsh": &str{Value: "D#0"}, "due": &num{Value: fmt.Sprint(i)}}))
		seen = append(seen, due())
	}
	r.d.IndexLag(0)
	if diff := cmp.Diff([]int{0, 0, 1, 2, 4}, append(seen, due())); diff != "" {
		t.Error("entries that the index shows (-want +got):", diff)
	}
}

func TestAReadMayBeStaleUnlessItAsksNotToBe(t *testing.T) {
	r := newRig(t)
	r.d.ReadLag(1)
	r.put(with(key("a", "1"), item{"n": &num{Value: "1"}}))
	r.put(with(key("a", "1"), item{"n": &num{Value: "2"}}))
	out, err := r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("a", "1")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&num{Value: "1"}, out.Item["n"], values); diff != "" {
		t.Error("an eventual read (-want +got):", diff)
	}
	if got := r.n(); got != "2" {
		t.Errorf("a consistent read says %s", got)
	}
	r.d.ReadLag(0)
	out, err = r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("a", "1")})
	if err != nil || cmp.Diff(&num{Value: "2"}, out.Item["n"], values) != "" {
		t.Errorf("an eventual read that does not lag says %v, %v", out, err)
	}
}

func TestABatchIsDoneInPart(t *testing.T) {
	r := newRig(t)
	r.d.Fail(once("BatchWriteItem", awsdouble.Unprocessed(1)))
	put := func(pk string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: key(pk, "1")}}
	}
	out, err := r.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {put("a"), put("b"), put("c")}}})
	if err != nil || len(out.UnprocessedItems[table]) != 2 {
		t.Fatalf("answered %+v, %v", out, err)
	}
	r.d.Fail(once("BatchGetItem", awsdouble.Unprocessed(1)))
	got, err := r.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		table: {Keys: []map[string]types.AttributeValue{key("a", "1"), key("b", "1")}, ConsistentRead: aws.Bool(true)}}})
	if err != nil || len(got.Responses[table]) != 1 || len(got.UnprocessedKeys[table].Keys) != 1 || !*got.UnprocessedKeys[table].ConsistentRead {
		t.Errorf("answered %+v, %v", got, err)
	}
}

func TestMessagesAreDoubledDelayedAndHandedOutTwice(t *testing.T) {
	q := newDesk(t)
	q.d.Fail(once("SendMessage", awsdouble.DoubleMessage()))
	q.send("x")
	if got := q.receive(q.url); len(got) != 2 || *got[0].MessageId != *got[1].MessageId || *got[0].ReceiptHandle == *got[1].ReceiptHandle {
		t.Errorf("a doubled message was handed out as %v", got)
	}
	q = newDesk(t)
	q.d.Fail(once("SendMessage", awsdouble.DelayMessage(time.Hour)))
	q.send("x")
	if got := q.receive(q.url); len(got) != 0 {
		t.Errorf("a delayed message was handed out: %v", got)
	}
	q = newDesk(t)
	q.send("x")
	q.d.Fail(once("ReceiveMessage", awsdouble.HandOutTwice()))
	if first, second := q.receive(q.url), q.receive(q.url); len(first) != 1 || len(second) != 1 {
		t.Errorf("handed out %d and %d messages", len(first), len(second))
	}
}

func TestChaosIsTheSeeds(t *testing.T) {
	run := func(seed uint64) (failed []int) {
		rule := awsdouble.Chaos(seed, 0.3, awsdouble.Throttle(), awsdouble.LoseReply())
		for i := range 100 {
			if rule(awsdouble.Call{}) != (awsdouble.Fault{}) {
				failed = append(failed, i)
			}
		}
		return failed
	}
	if one, again := run(7), run(7); !slices.Equal(one, again) || len(one) < 15 || len(one) > 45 {
		t.Errorf("seed 7 failed %v, then %v", one, again)
	}
	if slices.Equal(run(7), run(8)) {
		t.Error("two seeds failed the same requests")
	}
}

func TestWhatIsNotKnownIsRefusedAndTold(t *testing.T) {
	r := newRig(t)
	_, err := r.db.DescribeLimits(t.Context(), &dynamodb.DescribeLimitsInput{})
	wantCode(t, err, "NotKnownToTheDouble", "DescribeLimits")
	_, err = r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("a", "1"), AttributesToGet: []string{"pk"}})
	wantCode(t, err, "NotKnownToTheDouble", "AttributesToGet")
	_, err = r.d.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	wantCode(t, err, "NotKnownToTheDouble", "FIFO")
	want := []string{"DescribeLimits: operation DescribeLimits", `GetItem: parameter "AttributesToGet"`, "CreateQueue: FIFO queues"}
	if diff := cmp.Diff(want, r.d.Unknown()); diff != "" {
		t.Error("unknown (-want +got):", diff)
	}
}

func TestTheDoubleServesOtherProcesses(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(r.d)
	defer server.Close()
	config := r.d.Config()
	config.HTTPClient, config.BaseEndpoint = server.Client(), &server.URL
	db := dynamodb.NewFromConfig(config)
	r.d.Fail(once("UpdateItem", awsdouble.LoseReply()))
	if err := r.bump(db); err != nil {
		t.Fatal(err)
	}
	if got := r.n(); got != "2" {
		t.Errorf("n is %s: over a socket a lost reply is tried again too", got)
	}
	queues := sqs.NewFromConfig(config)
	out, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("wake")})
	if err != nil || *out.QueueUrl != server.URL+"/000000000000/wake" {
		t.Errorf("the queue's address is %v, %v", out, err)
	}
}

func TestACallerWhoGivesUpWaitsNoLonger(t *testing.T) {
	q := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := q.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q.url, WaitTimeSeconds: 20})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) { // or it goes on, and the test hangs
		t.Errorf("answered %v", err)
	}
}

func TestSixteenWritersCountRight(t *testing.T) {
	r := newRig(t)
	r.put(with(key("a", "1"), item{"n": &num{Value: "0"}}))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for done := 0; done < 8; {
				out, err := r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("a", "1"), ConsistentRead: aws.Bool(true)})
				if err != nil {
					t.Error(err)
					return
				}
				was := out.Item["n"]
				_, err = r.update(t.Context(), key("a", "1"), "SET n = n + :one", "n = :was", "", item{":one": &num{Value: "1"}, ":was": was})
				switch code(err) {
				case "":
					done++
				case "ConditionalCheckFailedException":
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := r.n(); got != "128" {
		t.Errorf("16 writers of 8 left %s", got)
	}
}
