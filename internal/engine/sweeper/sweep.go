// Package sweeper wakes the threads that are due.
package sweeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/partial"
)

// batch is how many entries are moved before their wake-ups are sent. A crash in between delays
// them by a period. Each batch reads the index, so small ones make a sweep slow.
const batch = 1000

const (
	// MostTogether is how many wake-ups a [Batcher] sends with one request.
	MostTogether = 10

	// AtOnce is how many requests of a sweep are under way at once.
	AtOnce = 16
)

// Batcher is a waker that can send several wake-ups with one request. It is safe for concurrent
// use.
type Batcher interface {
	// SendAll sends up to [MostTogether] wake-ups without delay. It returns one error for each:
	// nil where it was sent, [engine.ErrUnavailable] where it may not have been.
	SendAll(ctx context.Context, ws []engine.Wakeup) []error
}

// Sweep wakes every thread that is due: first its entry is moved a period ahead, then the wake-up
// is sent, so that several sweeps do not send it twice and a sweep that can do only a part gets to
// the rest the next time. What a crash leaves unsent comes back a period later. It is the safety
// net of everything: a lost wake-up, a lost owner, a deadline.
//
// An entry that cannot be moved or woken does not keep the others asleep: Sweep goes on until
// nothing more is due, ctx ends, or not one wake-up of a batch can be sent. What failed is a
// [*Error]. A waker that is a [Batcher] is used by [AtOnce] goroutines; any other by this one.
func Sweep(ctx context.Context, store engine.Overdue, waker engine.Waker, clock engine.Clock, period time.Duration) error {
	var failed Error
	for {
		now := clock.Now()
		due, err := store.TakeOverdue(ctx, now.UnixMilli(), now.Add(period).UnixMilli(), batch)
		failed.add(err)
		// also those that were moved before an error: they are not due again before next
		sent := failed.wake(ctx, waker, due)
		if ctx.Err() != nil || len(due) < batch || sent == 0 {
			return failed.orNil()
		}
	}
}

// Error is what a sweep could not do. Everything else that was due has been woken.
type Error struct {
	Woken int
	partial.Failures
}

func (e *Error) Error() string { return fmt.Sprintf("%d woken, %v", e.Woken, e.Failures) }

// logged bounds the lines of one sweep.
const logged = 10

// Log writes a warning for each failure, up to a bound, so that the thread can be found.
func (e *Error) Log(log *slog.Logger) {
	for i, failure := range e.Failures {
		if i == logged {
			log.Warn("further threads could not be woken", "threads", len(e.Failures)-i)
			return
		}
		if entry, ok := errors.AsType[*partial.EntryError](failure); ok {
			log.Warn("a due thread could not be woken; the next sweep tries again", "tenant", entry.Tenant, "thread", entry.Thread, "error", entry.Err)
		} else {
			log.Warn("some due entries could not be read; the next sweep tries again", "error", failure)
		}
	}
}

func (e *Error) add(err error) {
	if several, ok := errors.AsType[partial.Failures](err); ok {
		e.Failures = append(e.Failures, several...)
	} else if err != nil {
		e.Failures = append(e.Failures, err)
	}
}

// wake sends the wake-ups and says how many were sent.
func (e *Error) wake(ctx context.Context, waker engine.Waker, due []engine.Wakeup) (sent int) {
	for i, err := range send(ctx, waker, due) {
		if err != nil {
			e.Failures = append(e.Failures, &partial.EntryError{Wakeup: due[i], Err: err})
			continue
		}
		sent++
	}
	e.Woken += sent
	return sent
}

// send returns an error for each wake-up; nil where it was sent. It sorts due: the wake-ups of runs
// and of delivery lines go to different queues, and the fewer requests have both kinds, the better.
func send(ctx context.Context, waker engine.Waker, due []engine.Wakeup) []error {
	errs := make([]error, len(due))
	together, ok := waker.(Batcher)
	if !ok {
		for i, w := range due {
			errs[i] = waker.Send(ctx, w, 0)
		}
		return errs
	}
	slices.SortStableFunc(due, func(a, b engine.Wakeup) int { return kind(a) - kind(b) })
	partial.Each(AtOnce, (len(due)+MostTogether-1)/MostTogether, func(i int) {
		first, last := i*MostTogether, min((i+1)*MostTogether, len(due))
		copy(errs[first:last], together.SendAll(ctx, due[first:last]))
	})
	return errs
}

// kind is 0 for a run and 1 for a delivery line.
func kind(w engine.Wakeup) int {
	if w.Endpoint == "" {
		return 0
	}
	return 1
}

func (e *Error) orNil() error {
	if len(e.Failures) == 0 {
		return nil
	}
	return e
}
