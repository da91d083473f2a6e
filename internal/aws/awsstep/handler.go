// Package awsstep is the step function of a stack: it receives wake-ups and performs one step for
// each, and it receives messages of the intake queue and starts their runs. It also assembles the
// clients of models, functions and servers, because no other function needs them. It contains no
// logic of the runtime and reads no environment variables.
package awsstep

import (
	"context"
	"log/slog"
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
	stack.Batch
	engine  func(*slog.Logger) stepper
	wake    nacker
	queue   mover // nil without an intake queue
	starter intake.Starter
	intake  stack.Intake
	now     func() time.Time // nil: what is late is not measured
}

type stepper interface {
	Step(ctx context.Context, w engine.Wakeup) (engine.Report, error)
}

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
	engines := s.Engines()
	h := &Handler{Batch: stack.Batch{Metrics: s.Metrics, Units: s.Units, Logger: s.Logger, Chance: chance, Panics: emf.StepErrors},
		engine: func(log *slog.Logger) stepper { return engines(log) }, wake: s.Wake, starter: s.Frontend, intake: s.Settings.Intake}
	if s.Clock != nil {
		h.now = s.Clock.Now
	}
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
	stack.Invocation
}

// Handle returns the messages that must be redelivered.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return h.Batch.Handle(ctx, e, h)
}

// Message implements [stack.Messages].
func (h *Handler) Message(ctx context.Context, in stack.Invocation, m events.SQSMessage) (gone bool, err error) {
	i := &invocation{h, in}
	if h.ofIntake(m) {
		return i.take(ctx, m)
	}
	err = i.step(ctx, m)
	return err == nil, err
}

// Return implements [stack.Messages].
func (h *Handler) Return(ctx context.Context, m events.SQSMessage, after time.Duration) error {
	if h.ofIntake(m) {
		_, err := h.queue.Move(ctx, delivery(m, h.intake.Tenant, []byte(m.Body)), intake.Result{Outcome: intake.Failed, After: after})
		return err
	}
	return h.wake.Nack(ctx, engine.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle}, after, "")
}

func (h *Handler) ofIntake(m events.SQSMessage) bool {
	return h.queue != nil && m.EventSourceARN == h.intake.ARN
}
