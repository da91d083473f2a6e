// Package awsstep is the step function of a stack: it receives wake-ups and performs one step for
// each, and it receives messages of the intake queue and starts their runs. It also assembles the
// clients of models, functions and servers, because no other function needs them. It contains no
// logic of the runtime and reads no environment variables.
package awsstep

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// Handler turns messages into steps and runs. It is safe for concurrent use.
type Handler struct {
	engine  func(*slog.Logger) stepper
	wake    nacker
	queue   mover // nil without an intake queue
	starter intake.Starter
	intake  stack.Intake
	metrics *emf.Metrics
	units   meter
	log     *slog.Logger
	chance  func() float64
}

type stepper interface {
	Step(ctx context.Context, w engine.Wakeup) (engine.Report, error)
}

// meter returns the capacity that requests to the table consumed since the last call.
type meter interface{ Take() (read, write float64) }

// nacker returns a wake-up to its queue.
type nacker interface {
	Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error
}

// mover applies a result to a message of the intake queue, except for removing it; see package
// sqsqueue.
type mover interface {
	Move(ctx context.Context, d intake.Delivery, f intake.Result) (gone bool, err error)
}

// New returns a handler with the parts of s. chance returns a number from 0 to 1, for jitter.
func New(s awsenv.Step, chance func() float64) *Handler {
	h := &Handler{engine: func(log *slog.Logger) stepper { return s.Engine(log) }, wake: s.Wake, starter: s.Frontend, intake: s.Settings.Intake,
		metrics: s.Metrics, units: s.Units, log: s.Logger, chance: chance}
	if s.Intake != nil {
		h.queue = s.Intake
	}
	return h
}

// maxFailures is how often a message of the intake queue may fail before it moves to the dead
// letters with the reason. One more failure, and the queue's own redrive policy moves it without a
// reason.
const maxFailures = 4

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
		if !i.message(ctx, m) {
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

// message handles one message and reports whether it is done. Otherwise the message is returned to
// the queue with backoff; if that fails, it reappears when its visibility timeout ends.
func (i *invocation) message(ctx context.Context, m events.SQSMessage) (gone bool) {
	gone, again, err := i.caught(ctx, m)
	if err == nil {
		return gone
	}
	i.log.Log(ctx, level(err), "a message comes again", "message", m.MessageId, "receives", stack.Receives(m), "in", again.String(), "error", err)
	if err := i.giveBack(ctx, m, again); err != nil {
		i.log.Warn("cannot return a message to the queue; it reappears when its visibility ends", "message", m.MessageId, "error", err)
	}
	return false
}

// giveBack returns a message to its queue with a delay.
func (i *invocation) giveBack(ctx context.Context, m events.SQSMessage, after time.Duration) error {
	if i.ofIntake(m) {
		_, err := i.queue.Move(ctx, delivery(m, i.intake.Tenant, []byte(m.Body)), intake.Result{Outcome: intake.Failed, After: after})
		return err
	}
	return i.wake.Nack(ctx, engine.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle}, after, "")
}

func (i *invocation) ofIntake(m events.SQSMessage) bool {
	return i.queue != nil && m.EventSourceARN == i.intake.ARN
}

// caught turns a panic into an error, so that it costs only its message an attempt, and not the
// others of the batch.
func (i *invocation) caught(ctx context.Context, m events.SQSMessage) (gone bool, again time.Duration, err error) {
	again = stack.Backoff(m, i.chance())
	defer func() {
		if r := recover(); r != nil {
			i.log.Error("a message made the function panic", "message", m.MessageId, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			i.counts.Add(emf.StepErrors, 1)
			err = fmt.Errorf("handling the message panicked")
		}
	}()
	if i.ofIntake(m) {
		gone, err = i.take(ctx, m)
		return gone, again, err
	}
	err = i.step(ctx, m.Body)
	return err == nil, again, err
}
