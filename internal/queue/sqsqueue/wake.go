package sqsqueue

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

var (
	_ engine.Waker    = (*Wake)(nil)
	_ engine.Receiver = (*Wake)(nil)
)

// Wake is the wake-up queue. It is safe for concurrent use.
type Wake struct {
	queue

	// Wait is how long [Wake.Receive] waits for a message, at most 20 s. Without it a request
	// asks only some of SQS's servers and may miss messages.
	Wait time.Duration
}

// AttributeDelay is the delay of a wake-up in seconds, if it has one. SQS tells the receiver when a
// message was sent, and not when it was to become visible.
const AttributeDelay = "delay"

// NewWake returns the wake-up queue at a URL.
func NewWake(api API, url string) *Wake { return &Wake{queue: queue{api, url}} }

// Send implements [engine.Waker].
func (q *Wake) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	body, group := written(w), group(w.Tenant)
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, MessageGroupId: &group, DelaySeconds: seconds(delay, MaxDelay)}
	if in.DelaySeconds > 0 {
		kind, value := "Number", strconv.Itoa(int(in.DelaySeconds))
		in.MessageAttributes = map[string]types.MessageAttributeValue{AttributeDelay: {DataType: &kind, StringValue: &value}}
	}
	_, err := q.api.SendMessage(ctx, in)
	return q.translated("sending to", err)
}

// Receive implements [engine.Receiver]. Tools and tests use it; Lambda delivers messages to
// functions itself. Messages that are not ours are skipped and stay hidden, so that they end in the
// dead-letter queue.
func (q *Wake) Receive(ctx context.Context, max int) (ds []engine.Delivery, err error) {
	messages, err := q.receive(ctx, max, q.Wait)
	for _, m := range messages {
		if w, err := ReadWakeup(*m.Body); err == nil {
			ds = append(ds, engine.Delivery{ID: *m.MessageId, Receipt: *m.ReceiptHandle, Attempts: receives(m), Wakeup: w})
		}
	}
	return ds, err
}

// Ack implements [engine.Receiver].
func (q *Wake) Ack(ctx context.Context, d engine.Delivery) error { return q.remove(ctx, d.Receipt) }

// Nack implements [engine.Receiver]. It drops the cause, which the caller has logged.
func (q *Wake) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, _ string) error {
	return q.hide(ctx, d.Receipt, delay)
}

// receives returns how often a message was delivered, including this time.
func receives(m types.Message) int {
	n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if err != nil {
		return 1
	}
	return n
}
