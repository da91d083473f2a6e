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

// Wake is the queue of wake-ups. Safe for concurrent use.
type Wake struct {
	queue

	// Wait is how long [Wake.Receive] waits for something to come, at most 20 s. Without it a
	// request asks some of SQS's servers only, and may find nothing where there is something.
	Wait time.Duration
}

// NewWake is the queue of wake-ups at a URL.
func NewWake(api API, url string) *Wake { return &Wake{queue: queue{api, url}} }

// Send implements [engine.Waker].
func (q *Wake) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	body, group := written(w), group(w.Tenant)
	_, err := q.api.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, MessageGroupId: &group,
		DelaySeconds: seconds(delay, MaxDelay)})
	return q.translated("sending to", err)
}

// Receive implements [engine.Receiver], for tools and tests: functions are handed their messages.
// What is not ours is left out and stays hidden, so that it becomes a dead letter in time.
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

// Nack implements [engine.Receiver]. There is no place for the cause: whoever gives back has logged
// it.
func (q *Wake) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, _ string) error {
	return q.hide(ctx, d.Receipt, delay)
}

// receives is how often a message was handed over, this time included.
func receives(m types.Message) int {
	n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if err != nil {
		return 1
	}
	return n
}
