// Package awsnotify is the function of a stack that delivers notices. It receives the wake-ups of
// delivery lines, and works on the line that each one names, so that an endpoint that does not
// answer takes no time from a run.
package awsnotify

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// Handler works on lines. It is safe for concurrent use.
type Handler struct {
	stack.Batch
	deliverer func(*slog.Logger) deliverer
	lines     nacker
}

type deliverer interface {
	Deliver(ctx context.Context, w engine.Wakeup) (delivery.Report, error)
}

// nacker returns a wake-up to its queue.
type nacker interface {
	Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error
}

// Handle returns the messages that must be redelivered.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return h.Batch.Handle(ctx, e, h)
}

// Return implements [stack.Messages].
func (h *Handler) Return(ctx context.Context, m events.SQSMessage, after time.Duration) error {
	return h.lines.Nack(ctx, engine.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle}, after, "")
}

// Message works on the line that a wake-up names. The wake-up is done without an error, which
// includes stale ones. A message that is not ours fails each time, until the queue moves it to the
// dead letters.
func (h *Handler) Message(ctx context.Context, i stack.Invocation, m events.SQSMessage) (gone bool, err error) {
	w, err := sqsqueue.ReadWakeup(m.Body)
	if err != nil {
		i.Counts.Add(emf.Unreadable, 1)
		return false, err
	}
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	report, err := h.deliverer(i.Log).Deliver(inTime, w)
	for name, n := range map[emf.Name]int{emf.NoticesDelivered: report.Delivered, emf.NoticeFailures: report.Failed, emf.NoticesDead: report.Buried} {
		if n > 0 {
			i.Counts.Add(name, float64(n))
		}
	}
	return err == nil, err
}
