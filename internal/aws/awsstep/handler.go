// Package awsstep is the step function of a stack: it receives wake-ups and performs one step for
// each. It also assembles the clients of models, functions and servers, because no other function
// needs them. It contains no logic of the runtime and reads no environment variables.
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
)

// Handler turns wake-ups into steps. It is safe for concurrent use.
type Handler struct {
	stack.Batch
	engine func(*slog.Logger) stepper
	wake   nacker
	now    func() time.Time // nil: what is late is not measured
}

type stepper interface {
	Step(ctx context.Context, w engine.Wakeup) (engine.Report, error)
}

// nacker returns a wake-up to its queue.
type nacker interface {
	Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error
}

// New returns a handler with the parts of s. chance returns a number from 0 to 1, for jitter.
func New(s awsenv.Step, chance func() float64) *Handler {
	engines := s.Engines()
	h := &Handler{Batch: stack.Batch{Metrics: s.Metrics, Units: s.Units, Logger: s.Logger, Chance: chance, Panics: emf.StepErrors},
		engine: func(log *slog.Logger) stepper { return engines(log) }, wake: s.Wake}
	if s.Clock != nil {
		h.now = s.Clock.Now
	}
	return h
}

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
	err = i.step(ctx, m)
	return err == nil, err
}

// Return implements [stack.Messages].
func (h *Handler) Return(ctx context.Context, m events.SQSMessage, after time.Duration) error {
	return h.wake.Nack(ctx, engine.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle}, after, "")
}
