package awsdouble_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// desk is a double with one queue whose dead letters go to another.
type desk struct {
	t    *testing.T
	d    *awsdouble.Double
	sqs  *sqs.Client
	now  time.Time
	url  *string
	dead *string
}

func newDesk(t *testing.T) *desk {
	q := &desk{t: t, now: time.Unix(1_800_000_000, 0)}
	q.d = awsdouble.New(awsdouble.Options{Clock: func() time.Time { return q.now }, Seed: 1})
	q.sqs = q.d.SQS()
	q.dead = q.create("wake-dead", nil)
	q.url = q.create("wake", map[string]string{"VisibilityTimeout": "60",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:wake-dead","maxReceiveCount":2}`})
	return q
}

func (q *desk) create(name string, attributes map[string]string) *string {
	q.t.Helper()
	out, err := q.sqs.CreateQueue(q.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		q.t.Fatal(err)
	}
	return out.QueueUrl
}

func (q *desk) send(body string) string {
	q.t.Helper()
	out, err := q.sqs.SendMessage(q.t.Context(), &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: &body})
	if err != nil {
		q.t.Fatal(err)
	}
	return *out.MessageId
}

func (q *desk) receive(url *string) []types.Message {
	q.t.Helper()
	out, err := q.sqs.ReceiveMessage(q.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}, MessageAttributeNames: []string{"All"}})
	if err != nil {
		q.t.Fatal(err)
	}
	return out.Messages
}

func (q *desk) counts(url *string) string {
	q.t.Helper()
	out, err := q.sqs.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		q.t.Fatal(err)
	}
	a := out.Attributes
	return fmt.Sprintf("%s visible, %s in flight, %s delayed",
		a["ApproximateNumberOfMessages"], a["ApproximateNumberOfMessagesNotVisible"], a["ApproximateNumberOfMessagesDelayed"])
}

func TestAMessageThatIsNotDeletedComesBackAndThenDies(t *testing.T) {
	q := newDesk(t)
	id := q.send("hello")
	for n := range 2 {
		got := q.receive(q.url)
		if len(got) != 1 || got[0].Attributes["ApproximateReceiveCount"] != fmt.Sprint(n+1) {
			t.Fatalf("receive %d handed out %v", n+1, got)
		}
		if again := q.receive(q.url); len(again) != 0 {
			t.Fatalf("a message in flight was handed out: %v", again)
		}
		q.now = q.now.Add(61 * time.Second)
	}
	if got := q.receive(q.url); len(got) != 0 {
		t.Fatalf("the queue handed out %v after two receives", got)
	}
	got := q.receive(q.dead)
	if len(got) != 1 || *got[0].MessageId != id || got[0].Attributes["DeadLetterQueueSourceArn"] != "arn:aws:sqs:us-east-1:000000000000:wake" {
		t.Fatalf("the dead letters are %v", got)
	}
}

func TestAttributesAndGroupsTravelWithAMessage(t *testing.T) {
	q := newDesk(t)
	attributes := map[string]types.MessageAttributeValue{
		"tenant": {DataType: aws.String("String"), StringValue: aws.String("acme")},
		"count":  {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
		"raw":    {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1}},
	}
	_, err := q.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: aws.String("{}"), MessageGroupId: aws.String("acme"),
		MessageAttributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	got := q.receive(q.url)[0]
	if got.Attributes["MessageGroupId"] != "acme" || got.Attributes["SentTimestamp"] != "1800000000000" {
		t.Errorf("system attributes are %v", got.Attributes)
	}
	if *got.MessageAttributes["count"].StringValue != "7" || string(got.MessageAttributes["raw"].BinaryValue) != "\x00\x01" {
		t.Errorf("message attributes are %v", got.MessageAttributes)
	}
	// The digest was worked out by hand from the rules of the developer guide, by other code
	// than this package's.
	if want := handMadeDigest(attributes); *got.MD5OfMessageAttributes != want {
		t.Errorf("digest of the attributes is %s, want %s", *got.MD5OfMessageAttributes, want)
	}
}

func TestADelayHidesAMessage(t *testing.T) {
	q := newDesk(t)
	if _, err := q.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: aws.String("x"), DelaySeconds: 30}); err != nil {
		t.Fatal(err)
	}
	if got := q.counts(q.url); got != "0 visible, 0 in flight, 1 delayed" {
		t.Error("before the delay is over:", got)
	}
	q.now = q.now.Add(30 * time.Second)
	if got := q.receive(q.url); len(got) != 1 {
		t.Errorf("after the delay %d messages were handed out", len(got))
	}
	if got := q.counts(q.url); got != "0 visible, 1 in flight, 0 delayed" {
		t.Error("in flight:", got)
	}
}

func TestAnOldReceiptDeletesNothing(t *testing.T) {
	q := newDesk(t)
	q.send("x")
	old := q.receive(q.url)[0].ReceiptHandle
	q.now = q.now.Add(time.Hour)
	last := q.receive(q.url)[0].ReceiptHandle
	remove := func(handle *string) {
		if _, err := q.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: handle}); err != nil {
			t.Fatal(err)
		}
	}
	remove(old)
	if got := q.counts(q.url); got != "0 visible, 1 in flight, 0 delayed" {
		t.Error("after the old receipt:", got)
	}
	_, err := q.sqs.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: q.url, ReceiptHandle: old, VisibilityTimeout: 1})
	wantCode(t, err, "InvalidParameterValue", "not available for visibility timeout change")
	q.now = q.now.Add(time.Hour)
	remove(last)
	if got := q.counts(q.url); got != "0 visible, 0 in flight, 0 delayed" {
		t.Error("after the last receipt:", got)
	}
	_, err = q.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: aws.String("nonsense")})
	wantCode(t, err, "ReceiptHandleIsInvalid", "nonsense")
}

func TestVisibilityCanBeChangedInFlight(t *testing.T) {
	q := newDesk(t)
	q.send("x")
	m := q.receive(q.url)[0]
	_, err := q.sqs.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0})
	if err != nil {
		t.Fatal(err)
	}
	if got := q.receive(q.url); len(got) != 1 {
		t.Errorf("%d messages after the visibility was set to nothing", len(got))
	}
}

func TestALongPollEndsWithAnArrival(t *testing.T) {
	q := newDesk(t)
	got := make(chan int, 1)
	go func() {
		out, err := q.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.url, WaitTimeSeconds: 20})
		if err != nil {
			got <- -1
			return
		}
		got <- len(out.Messages)
	}()
	for q.d.Requests()["ReceiveMessage"] == 0 {
		runtime.Gosched()
	}
	q.send("x")
	if n := <-got; n != 1 {
		t.Errorf("the poll ended with %d messages", n)
	}
}

func TestSQSRefuses(t *testing.T) {
	q := newDesk(t)
	send := func(in sqs.SendMessageInput) error {
		in.QueueUrl = q.url
		_, err := q.sqs.SendMessage(t.Context(), &in)
		return err
	}
	batch := func(ids ...string) error {
		in := &sqs.SendMessageBatchInput{QueueUrl: q.url}
		for _, id := range ids {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("x")})
		}
		_, err := q.sqs.SendMessageBatch(t.Context(), in)
		return err
	}
	_, noQueue := q.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	_, tooMany := q.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.url, MaxNumberOfMessages: 11})
	_, policy := q.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q"), Attributes: map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":2}`}})
	_, attribute := q.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q"), Attributes: map[string]string{"DelaySeconds": "901"}})
	for _, c := range []struct {
		name, code, message string
		err                 error
	}{
		{"an empty body", "MissingParameter", "MessageBody", send(sqs.SendMessageInput{MessageBody: aws.String("")})},
		{"a long delay", "InvalidParameterValue", "DelaySeconds", send(sqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901})},
		{"a control character", "InvalidMessageContents", "", send(sqs.SendMessageInput{MessageBody: aws.String("a\x01")})},
		{"over a mebibyte", "InvalidParameterValue", "shorter", send(sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20+1))})},
		{"a deduplication id", "InvalidParameterValue", "queue type", send(sqs.SendMessageInput{MessageBody: aws.String("x"), MessageDeduplicationId: aws.String("x")})},
		{"a blank group", "InvalidParameterValue", "MessageGroupId", send(sqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: aws.String("a b")})},
		{"a batch of eleven", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "", batch(strings.Split("a b c d e f g h i j k", " ")...)},
		{"an id twice", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "", batch("a", "a")},
		{"an odd id", "AWS.SimpleQueueService.InvalidBatchEntryId", "", batch("a.b")},
		{"a queue that is not", "AWS.SimpleQueueService.NonExistentQueue", "", noQueue},
		{"eleven messages", "InvalidParameterValue", "MaxNumberOfMessages", tooMany},
		{"dead letters to nowhere", "InvalidParameterValue", "Dead letter target does not exist", policy},
		{"a delay of a queue", "InvalidAttributeValue", "DelaySeconds", attribute},
	} {
		t.Run(c.name, func(t *testing.T) { wantCode(t, c.err, c.code, c.message) })
	}
	if diff := cmp.Diff("0 visible, 0 in flight, 0 delayed", q.counts(q.url)); diff != "" {
		t.Error("something refused was sent all the same:", diff)
	}
}

func TestABatchSucceedsInPart(t *testing.T) {
	q := newDesk(t)
	out, err := q.sqs.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: q.url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("good"), MessageBody: aws.String("x")}, {Id: aws.String("bad"), MessageBody: aws.String("x"), DelaySeconds: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 1 || len(out.Failed) != 1 || *out.Failed[0].Id != "bad" || !out.Failed[0].SenderFault {
		t.Errorf("answered %+v", out)
	}
	m := q.receive(q.url)[0]
	gone, err := q.sqs.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: m.ReceiptHandle}, {Id: aws.String("b"), ReceiptHandle: aws.String("nonsense")}}})
	if err != nil || len(gone.Successful) != 1 || len(gone.Failed) != 1 || *gone.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("deleting answered %+v, %v", gone, err)
	}
}

func TestMessagesComeInNoOrderButTheSeeds(t *testing.T) {
	order := func() (bodies string) {
		q := newDesk(t)
		for i := range 10 {
			q.send(fmt.Sprint(i))
		}
		for _, m := range q.receive(q.url) {
			bodies += *m.Body
		}
		return bodies
	}
	first := order()
	if first == "0123456789" || len(first) != 10 {
		t.Errorf("seed 1 handed out %s, which is the order they came in", first)
	}
	if again := order(); again != first {
		t.Errorf("seed 1 handed out %s, then %s", first, again)
	}
}
