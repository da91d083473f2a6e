// Package awsstep is the function that works: it takes the wake-ups of the stack's runs and does
// one step for each, and it takes the messages of the intake queue and starts what they ask for.
// What models, functions and servers it reaches for that is put together here too, since no other
// function reaches any. It holds no rule of the runtime, and reads no environment.
package awsstep

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// Handler turns messages into steps and runs. Safe for concurrent use.
type Handler struct {
	engine  func(*slog.Logger) stepper
	wake    giver
	queue   mover // nil: there is no intake queue
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

// meter is what the table's requests have consumed since it was asked last.
type meter interface{ Take() (read, write float64) }

// giver gives a wake-up back.
type giver interface {
	Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error
}

// mover is what the intake queue does with a message but remove it, see package sqsqueue.
type mover interface {
	Move(ctx context.Context, d intake.Delivery, f intake.Result) (gone bool, err error)
}

// New is a handler of what s is made of. Chance is from 0 to 1, for pauses that are not all alike.
func New(s awsenv.Step, chance func() float64) *Handler {
	h := &Handler{engine: func(log *slog.Logger) stepper { return s.Engine(log) }, wake: s.Wake, starter: s.Frontend, intake: s.Settings.Intake,
		metrics: s.Metrics, units: s.Units, log: s.Logger, chance: chance}
	if s.Intake != nil {
		h.queue = s.Intake
	}
	return h
}

// maxFailures is how often a message of the intake queue may fail before it is put aside with the
// reason. The queue's own redrive, which tells no reason, takes it at one more.
const maxFailures = 4

// invocation is one call of the function.
type invocation struct {
	*Handler
	log    *slog.Logger
	counts emf.Counts
}

// Handle answers with the messages that are to come again. All others are removed from their queue
// by the platform; so nothing here is an error of the whole.
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

// message says whether a message may go. One that may not is shown again after a while, unless that
// cannot be said either: then at the end of the queue's visibility.
func (i *invocation) message(ctx context.Context, m events.SQSMessage) (gone bool) {
	gone, again, err := i.caught(ctx, m)
	if err == nil {
		return gone
	}
	i.log.Log(ctx, level(err), "a message comes again", "message", m.MessageId, "receives", receives(m), "in", again.String(), "error", err)
	if err := i.giveBack(ctx, m, again); err != nil {
		i.log.Warn("a message could not be given back; it comes again when its visibility ends", "message", m.MessageId, "error", err)
	}
	return false
}

// giveBack shows a message again after a while, in the queue that it came from.
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

// caught turns a panic into an error, so that it costs its message an attempt and not the others of
// the batch theirs.
func (i *invocation) caught(ctx context.Context, m events.SQSMessage) (gone bool, again time.Duration, err error) {
	again = i.backoff(receives(m))
	defer func() {
		if r := recover(); r != nil {
			i.log.Error("a message made the function panic", "message", m.MessageId, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			i.counts.Add(emf.StepErrors, 1)
			err = fmt.Errorf("working on the message panicked")
		}
	}()
	if i.ofIntake(m) {
		gone, err = i.take(ctx, m)
		return gone, again, err
	}
	err = i.step(ctx, m.Body)
	return err == nil, again, err
}

// A message that failed comes again after 2 s, then after twice as long each time, half of it by
// chance.
const (
	shortest = 2 * time.Second
	longest  = 5 * time.Minute
)

func (i *invocation) backoff(receives int) time.Duration {
	d := min(shortest<<min(receives, 10), longest)
	return d/2 + time.Duration(i.chance()*float64(d/2))
}

// receives is how often a message was handed over, this time included.
func receives(m events.SQSMessage) int {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return max(1, n)
}
