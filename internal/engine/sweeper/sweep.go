// Package sweeper wakes the threads that are due.
package sweeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// batch is how many entries are moved at a time.
const batch = 100

// Sweep wakes every thread that is due: first its entry is moved a period ahead, then the wake-up
// is sent, so that several sweeps do not send it twice and a sweep that can do only a part gets to
// the rest the next time. What a crash leaves unsent comes back a period later. It is the safety
// net of everything: a lost wake-up, a lost owner, a deadline.
//
// An entry that cannot be moved or woken does not keep the others asleep: Sweep goes on until
// nothing more is due, ctx ends, or not one wake-up of a batch can be sent. What failed is a
// [*Error].
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
	engine.Failures
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
		if entry, ok := errors.AsType[*engine.EntryError](failure); ok {
			log.Warn("a due thread could not be woken; the next sweep tries again", "tenant", entry.Tenant, "thread", entry.Thread, "error", entry.Err)
		} else {
			log.Warn("some due entries could not be read; the next sweep tries again", "error", failure)
		}
	}
}

func (e *Error) add(err error) {
	if several, ok := errors.AsType[engine.Failures](err); ok {
		e.Failures = append(e.Failures, several...)
	} else if err != nil {
		e.Failures = append(e.Failures, err)
	}
}

// wake sends the wake-ups and says how many were sent.
func (e *Error) wake(ctx context.Context, waker engine.Waker, due []engine.Wakeup) (sent int) {
	for _, w := range due {
		if err := waker.Send(ctx, w, 0); err != nil {
			e.Failures = append(e.Failures, &engine.EntryError{Wakeup: w, Err: err})
			continue
		}
		sent++
	}
	e.Woken += sent
	return sent
}

func (e *Error) orNil() error {
	if len(e.Failures) == 0 {
		return nil
	}
	return e
}
