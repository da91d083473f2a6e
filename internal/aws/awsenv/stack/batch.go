package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Batch is what all functions that receive messages do with them. It is safe for concurrent use.
type Batch struct {
	Metrics *emf.Metrics
	Units   Meter
	Logger  *slog.Logger
	Chance  func() float64 // from 0 to 1, for jitter
	Panics  emf.Name       // counts the messages that made the function panic
}

// Meter returns the capacity that requests to the table consumed since the last call.
type Meter interface{ Take() (read, write float64) }

// Invocation is one invocation of a function.
type Invocation struct {
	Log    *slog.Logger
	Counts emf.Counts
}

// Messages is the function's own part.
type Messages interface {
	// Message handles one message and reports whether it is done. Otherwise it comes again: an
	// error returns it to its queue, and without one it has been returned.
	Message(ctx context.Context, i Invocation, m events.SQSMessage) (gone bool, err error)
	// Return returns a message to its queue with a delay.
	Return(ctx context.Context, m events.SQSMessage, after time.Duration) error
}

// Handle returns the messages that must be redelivered. Lambda removes all others from their queue,
// so no error fails the entire batch.
func (b Batch) Handle(ctx context.Context, e events.SQSEvent, each Messages) (events.SQSEventResponse, error) {
	i := Invocation{Log: Requested(ctx, b.Logger), Counts: emf.Counts{}}
	failed := []events.SQSBatchItemFailure{}
	for _, m := range e.Records {
		gone, err := b.caught(ctx, i, m, each)
		if err != nil {
			b.giveBack(ctx, i, m, each, err)
		}
		if err != nil || !gone {
			failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	if read, write := b.Units.Take(); read+write > 0 {
		i.Counts.Add(emf.ReadUnits, read)
		i.Counts.Add(emf.WriteUnits, write)
	}
	if err := b.Metrics.Write(i.Counts); err != nil {
		i.Log.Error("cannot write metrics", "error", err)
	}
	return events.SQSEventResponse{BatchItemFailures: failed}, nil
}

// giveBack returns a message to its queue with backoff; if that fails, it reappears when its
// visibility timeout ends.
func (b Batch) giveBack(ctx context.Context, i Invocation, m events.SQSMessage, each Messages, cause error) {
	again := Backoff(m, b.Chance())
	i.Log.Log(ctx, failureLevel(cause), "a message comes again", "message", m.MessageId, "receives", Receives(m), "in", again.String(), "error", cause)
	if err := each.Return(ctx, m, again); err != nil {
		i.Log.Warn("cannot return a message to the queue; it reappears when its visibility ends", "message", m.MessageId, "error", err)
	}
}

// caught turns a panic into an error, so that it costs only its message an attempt, and not the
// others of the batch.
func (b Batch) caught(ctx context.Context, i Invocation, m events.SQSMessage, each Messages) (gone bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			i.Log.Error("a message made the function panic", "message", m.MessageId, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			i.Counts.Add(b.Panics, 1)
			err = fmt.Errorf("handling the message panicked")
		}
	}()
	return each.Message(ctx, i, m)
}

// failureLevel is the log level of an error: lower for errors that occur in a healthy stack.
func failureLevel(err error) slog.Level {
	if !engine.Lasting(err) && (errors.Is(err, engine.ErrNoTime) || errors.Is(err, engine.ErrUnavailable)) {
		return slog.LevelWarn
	}
	return slog.LevelError
}
