// Package awsnotify is the function of a stack that delivers notices. It receives the wake-ups of
// delivery lines, and works on the line that each one names, so that an endpoint that does not
// answer takes no time from a run.
package awsnotify

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
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
	deliverer func(*slog.Logger) deliverer
	lines     nacker
	metrics   *emf.Metrics
	units     meter
	log       *slog.Logger
	chance    func() float64 // from 0 to 1, for jitter
}

type deliverer interface {
	Deliver(ctx context.Context, w engine.Wakeup) (delivery.Report, error)
}

// nacker returns a wake-up to its queue.
type nacker interface {
	Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error
}

// meter returns the capacity that requests to the table consumed since the last call.
type meter interface{ Take() (read, write float64) }

// invocation is one invocation of the function.
type invocation struct {
	*Handler
	log    *slog.Logger
	counts emf.Counts
}

// Handle returns the messages that must be redelivered. Lambda removes all others from their queue,
// so no error fails the entire batch.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	i := invocation{Handler: h, log: stack.Requested(ctx, h.log), counts: emf.Counts{}}
	failed := []events.SQSBatchItemFailure{}
	for _, m := range e.Records {
		if err := i.caught(ctx, m); err != nil {
			i.giveBack(ctx, m, err)
			failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	if read, write := h.units.Take(); read+write > 0 {
		i.counts.Add(emf.ReadUnits, read)
		i.counts.Add(emf.WriteUnits, write)
	}
	if err := h.metrics.Write(i.counts); err != nil {
		i.log.Error("cannot write metrics", "error", err)
	}
	return events.SQSEventResponse{BatchItemFailures: failed}, nil
}

// giveBack returns a message to its queue with backoff; if that fails, it reappears when its
// visibility timeout ends.
func (i *invocation) giveBack(ctx context.Context, m events.SQSMessage, cause error) {
	again := stack.Backoff(m, i.chance())
	i.log.Warn("a message comes again", "message", m.MessageId, "receives", stack.Receives(m), "in", again.String(), "error", cause)
	if err := i.lines.Nack(ctx, engine.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle}, again, ""); err != nil {
		i.log.Warn("cannot return a message to the queue; it reappears when its visibility ends", "message", m.MessageId, "error", err)
	}
}

// caught turns a panic into an error, so that it costs only its message an attempt, and not the
// others of the batch.
func (i *invocation) caught(ctx context.Context, m events.SQSMessage) (err error) {
	defer func() {
		if r := recover(); r != nil {
			i.log.Error("a message made the function panic", "message", m.MessageId, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("handling the message panicked")
		}
	}()
	return i.deliver(ctx, m.Body)
}

// deliver works on the line that a wake-up names. It returns nil if the wake-up is done, which
// includes stale ones. A message that is not ours fails each time, until the queue moves it to the
// dead letters.
func (i *invocation) deliver(ctx context.Context, body string) error {
	w, err := sqsqueue.ReadWakeup(body)
	if err != nil {
		i.counts.Add(emf.Unreadable, 1)
		return err
	}
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	report, err := i.deliverer(i.log).Deliver(inTime, w)
	for name, n := range map[emf.Name]int{emf.NoticesDelivered: report.Delivered, emf.NoticeFailures: report.Failed, emf.NoticesDead: report.Buried} {
		if n > 0 {
			i.counts.Add(name, float64(n))
		}
	}
	return err
}
