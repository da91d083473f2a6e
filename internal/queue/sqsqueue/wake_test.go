package sqsqueue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/queuetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// cloud is a double with a queue and its dead letters.
type cloud struct {
	*testing.T
	double    *awsdouble.Double
	api       *sqs.Client
	url, dead string
}

func newCloud(t *testing.T, clock *enginetest.Clock) *cloud {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{Clock: clock.Now, Seed: 1})
	t.Cleanup(func() {
		if unknown := double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	c := &cloud{T: t, double: double, api: double.SQS()}
	c.dead = c.create("dead", nil)
	c.url = c.create("queue", map[string]string{"VisibilityTimeout": strconv.Itoa(int(queuetest.Visibility.Seconds())),
		"RedrivePolicy": `{"deadLetterTargetArn":"` + c.arn(c.dead) + `","maxReceiveCount":` + strconv.Itoa(queuetest.MaxAttempts) + `}`})
	return c
}

func (c *cloud) create(name string, attributes map[string]string) (url string) {
	c.Helper()
	out, err := c.api.CreateQueue(c.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		c.Fatal(err)
	}
	return *out.QueueUrl
}

func (c *cloud) arn(url string) string {
	c.Helper()
	name := types.QueueAttributeNameQueueArn
	out, err := c.api.GetQueueAttributes(c.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{name}})
	if err != nil {
		c.Fatal(err)
	}
	return out.Attributes[string(name)]
}

func (c *cloud) put(url, body string) {
	c.Helper()
	if _, err := c.api.SendMessage(c.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
		c.Fatal(err)
	}
}

// messages are those that stand in a queue now, with all that is in them.
func (c *cloud) messages(url string) []types.Message {
	c.Helper()
	out, err := c.api.ReceiveMessage(c.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
	if err != nil {
		c.Fatal(err)
	}
	return out.Messages
}

// suiteQueue reads the dead letters for the suite, without hiding them for long.
type suiteQueue struct {
	*sqsqueue.Wake
	dead *sqsqueue.Wake
}

func (q suiteQueue) Dead(ctx context.Context) (dead []queuetest.Dead, err error) {
	letters, err := q.dead.Receive(ctx, 10)
	for _, d := range letters {
		dead = append(dead, queuetest.Dead{Wakeup: d.Wakeup})
		err = errors.Join(err, q.dead.Nack(ctx, d, 0, ""))
	}
	return dead, err
}

// Redrive does what an operator's tool does.
func (q suiteQueue) Redrive(ctx context.Context, limit int) (int, error) {
	letters, err := q.dead.Receive(ctx, limit)
	for _, d := range letters {
		err = errors.Join(err, q.Send(ctx, d.Wakeup, 0), q.dead.Ack(ctx, d))
	}
	return len(letters), err
}

func TestQueue(t *testing.T) {
	t.Parallel()
	// SQS counts the turns itself and promises no order.
	queuetest.Test(t, func(t *testing.T, clock *enginetest.Clock) queuetest.Queue {
		c := newCloud(t, clock)
		return suiteQueue{sqsqueue.NewWake(c.api, c.url), sqsqueue.NewWake(c.api, c.dead)}
	}, queuetest.LastingReceipts, queuetest.WholeSeconds, queuetest.SilentDead, queuetest.LateDead, queuetest.NoTurns)
}

func TestAWakeUpCarriesTenantAndThreadAndNothingElse(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1000))
	q := sqsqueue.NewWake(c.api, c.url)
	for tenant, group := range map[string]string{"acme": "acme", "größe 1": "sha256:", strings.Repeat("x", 200): "sha256:"} {
		w := engine.Wakeup{Tenant: tenant, Thread: "thr_\uffff"}
		if err := q.Send(t.Context(), w, 0); err != nil {
			t.Fatal(err)
		}
		m := c.messages(c.url)[0]
		var members map[string]string
		if err := json.Unmarshal([]byte(*m.Body), &members); err != nil || len(members) != 2 || members["tenant"] != tenant || members["thread"] != w.Thread {
			t.Errorf("the body is %s, %v", *m.Body, err)
		}
		if len(m.MessageAttributes) != 0 || !strings.HasPrefix(m.Attributes["MessageGroupId"], group) {
			t.Errorf("attributes %v, and %v", m.MessageAttributes, m.Attributes)
		}
	}
}

func TestALongDelayIsClipped(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	c := newCloud(t, clock)
	q := sqsqueue.NewWake(c.api, c.url)
	for _, delay := range []time.Duration{48 * time.Hour, -time.Second} {
		if err := q.Send(t.Context(), engine.Wakeup{Tenant: "a", Thread: "t"}, delay); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second at once, the first when it is time
		ds, err := q.Receive(t.Context(), 10)
		if err != nil || len(ds) != 1 {
			t.Fatalf("received %d, %v; want 1", len(ds), err)
		}
		if err := q.Ack(t.Context(), ds[0]); err != nil {
			t.Fatal(err)
		}
		clock.Advance(sqsqueue.MaxDelay)
	}
}

func TestWhatIsNotOursIsLeftToTheDeadLetters(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	c := newCloud(t, clock)
	q := sqsqueue.NewWake(c.api, c.url)
	c.put(c.url, "hello")
	for range queuetest.MaxAttempts + 1 {
		if ds, err := q.Receive(t.Context(), 10); err != nil || len(ds) != 0 {
			t.Fatalf("received %+v, %v", ds, err)
		}
		clock.Advance(queuetest.Visibility)
	}
	if dead := c.messages(c.dead); len(dead) != 1 || *dead[0].Body != "hello" {
		t.Errorf("dead letters %+v", dead)
	}
}

func TestReadWakeup(t *testing.T) {
	for _, bad := range []string{"", "hello", "null", "[]", `{}`, `{"tenant":"a"}`, `{"tenant":"a","thread":""}`, `{"tenant":"a","thread":"t","run":"r"}`,
		`{"tenant":"a","thread":"t","thread":"u"}`, `{"Tenant":"a","thread":"t"}`, `{"tenant":"a","thread":7}`, `{"tenant":"a","thread":"t"}{}`, "\xff"} {
		if w, err := sqsqueue.ReadWakeup(bad); !errors.Is(err, sqsqueue.ErrNotOurs) || w != (engine.Wakeup{}) {
			t.Errorf("%q is read as %+v, %v", bad, w, err)
		}
	}
	if w, err := sqsqueue.ReadWakeup(`{"thread":"t","tenant":"a"}`); err != nil || w.Tenant != "a" || w.Thread != "t" {
		t.Errorf("read as %+v, %v", w, err)
	}
}

func TestTroubleIsBorneAFewTimesAndThenToldAsUnavailable(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1000))
	q := sqsqueue.NewWake(c.api, c.url)
	w := engine.Wakeup{Tenant: "a", Thread: "t"}
	for name, fault := range map[string]awsdouble.Fault{"a throttle": awsdouble.Throttle(), "a fault of the service": awsdouble.InternalError(),
		"a lost request": awsdouble.LoseRequest(), "a lost reply": awsdouble.LoseReply()} {
		c.double.Fail(func(call awsdouble.Call) awsdouble.Fault {
			if call.Attempt < 3 {
				return fault
			}
			return awsdouble.Fault{}
		})
		if err := q.Send(t.Context(), w, 0); err != nil {
			t.Errorf("%s twice: %v", name, err)
		}
		c.double.Fail(func(awsdouble.Call) awsdouble.Fault { return fault })
		_, received := q.Receive(t.Context(), 1)
		for _, err := range []error{q.Send(t.Context(), w, 0), received, q.Ack(t.Context(), engine.Delivery{Receipt: "r"})} {
			if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), c.url) {
				t.Errorf("%s without end: %v", name, err)
			}
		}
		c.double.Fail(nil)
	}
}

func TestAQueueThatIsNotThereIsToldByItsURL(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1000))
	q := sqsqueue.NewWake(c.api, "http://aws.invalid/123456789012/none")
	if err := q.Send(t.Context(), engine.Wakeup{Tenant: "a", Thread: "t"}, 0); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "/none") {
		t.Errorf("got %v", err)
	}
}

func TestWhoeverGivesUpIsToldThatHeDid(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := sqsqueue.NewWake(c.api, c.url).Send(ctx, engine.Wakeup{Tenant: "a", Thread: "t"}, 0)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestWakeUpsOfLinesHaveAQueueOfTheirOwn(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1_000_000))
	lines := c.create("lines", nil)
	waker := sqsqueue.Apart{Runs: sqsqueue.NewWake(c.api, c.url), Lines: sqsqueue.NewWake(c.api, lines)}
	run := engine.Wakeup{Tenant: "acme", Thread: "thr_a"}
	line := engine.Wakeup{Tenant: "acme", Thread: "thr_a", Endpoint: "agent/desk/ops"}
	for _, w := range []engine.Wakeup{run, line} {
		if err := waker.Send(t.Context(), w, 0); err != nil {
			t.Fatal(err)
		}
	}
	for url, want := range map[string]engine.Wakeup{c.url: run, lines: line} {
		got, err := sqsqueue.NewWake(c.api, url).Receive(t.Context(), 10)
		if err != nil || len(got) != 1 || got[0].Wakeup != want {
			t.Errorf("%s has %+v, %v; want %+v", url, got, err, want)
		}
	}
}

// picky refuses one message of each batch, and does not answer for another.
type picky struct{ *sqs.Client }

func (p picky) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	code, id := "InternalError", in.Entries[1].Id
	some := *in
	some.Entries = append(in.Entries[:1:1], in.Entries[3:]...)
	out, err := p.Client.SendMessageBatch(ctx, &some, o...)
	out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: id, Code: &code})
	return out, err
}

func TestABatchSaysWhichOfItsWakeUpsWereSent(t *testing.T) {
	c := newCloud(t, enginetest.AtMilli(1_000_000))
	lines := c.create("lines", nil)
	waker := sqsqueue.Apart{Runs: sqsqueue.NewWake(picky{c.api}, c.url), Lines: sqsqueue.NewWake(c.api, lines)}
	var due []engine.Wakeup
	for i := range 5 {
		due = append(due, engine.Wakeup{Tenant: "akmé", Thread: "thr_" + strconv.Itoa(i)})
	}
	line := engine.Wakeup{Tenant: "acme", Thread: "thr_a", Endpoint: "agent/desk/ops"}
	due = slices.Insert(due, 2, line)
	for i, err := range waker.SendAll(t.Context(), due) {
		if refused := due[i].Thread == "thr_1" || due[i].Thread == "thr_2"; errors.Is(err, engine.ErrUnavailable) != refused {
			t.Errorf("%s: %v", due[i].Thread, err)
		}
	}
	got, err := sqsqueue.NewWake(c.api, c.url).Receive(t.Context(), 10)
	var threads []string
	for _, d := range got {
		threads = append(threads, d.Tenant+" "+d.Thread)
	}
	slices.Sort(threads)
	if want := []string{"akmé thr_0", "akmé thr_3", "akmé thr_4"}; err != nil || !slices.Equal(threads, want) {
		t.Errorf("%v, %v", threads, err)
	}
	if got, err := sqsqueue.NewWake(c.api, lines).Receive(t.Context(), 10); err != nil || len(got) != 1 || got[0].Wakeup != line {
		t.Errorf("the queue of lines has %+v, %v", got, err)
	}
	for i, err := range sqsqueue.NewWake(c.api, c.url+"none").SendAll(t.Context(), due) {
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%d: %v from a queue that does not exist", i, err)
		}
	}
}
