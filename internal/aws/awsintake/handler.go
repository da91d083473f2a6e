// Package awsintake is the function of a stack that takes messages of the intake queue and starts
// the runs that they request. It is separate from the step function, whose queue hides a message
// for six times as long as a step may take: a message is the only copy of its request, and no sweep
// finds one whose function was killed.
package awsintake

import (
	"context"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// Handler turns messages into runs. It is safe for concurrent use.
type Handler struct {
	stack.Batch
	queue    mover
	starter  intake.Starter
	settings stack.Intake
}

// mover applies a result to a message of the intake queue, except for removing it; see package
// sqsqueue.
type mover interface {
	Move(ctx context.Context, d intake.Delivery, f intake.Result) (gone bool, err error)
}

// Open assembles the function. Log lines and metrics go to out. It makes no network request. chance
// returns a number from 0 to 1, for jitter.
func Open(s awsenv.Settings, register awsenv.Register, chance func() float64, out io.Writer) (*Handler, error) {
	p, err := awsenv.NewIntake(s, register, out)
	if err != nil {
		return nil, err
	}
	return New(p, chance), nil
}

// New returns a handler with the parts of s.
func New(s awsenv.Intake, chance func() float64) *Handler {
	return &Handler{Batch: stack.Batch{Metrics: s.Metrics, Units: s.Units, Logger: s.Logger, Chance: chance, Panics: emf.IntakeErrors},
		queue: s.Queue, starter: s.Frontend, settings: s.Settings.Intake}
}

// maxFailures is how often a message may fail before it moves to the dead letters with the reason.
// One more failure, and the queue's own redrive policy moves it without a reason.
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
	return i.take(ctx, m)
}

// Return implements [stack.Messages].
func (h *Handler) Return(ctx context.Context, m events.SQSMessage, after time.Duration) error {
	_, err := h.queue.Move(ctx, delivery(m, h.settings.Tenant, []byte(m.Body)), intake.Result{Outcome: intake.Failed, After: after})
	return err
}
