package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// sweepBatch is how many entries are moved at a time.
const sweepBatch = 100

// Sweep wakes every thread that is due: first its entry is moved a period ahead, then the wake-up
// is sent, so that several sweeps do not send it twice and a sweep that can do only a part gets to
// the rest the next time. What a crash leaves unsent comes back a period later. It is the safety
// net of everything: a lost wake-up, a lost owner, a deadline.
//
// An entry that cannot be moved or woken does not keep the others asleep: Sweep goes on until
// nothing more is due, ctx ends, or not one wake-up of a batch can be sent. What failed is a
// [*SweepError].
func Sweep(ctx context.Context, store Overdue, waker Waker, clock Clock, period time.Duration) error {
	var failed SweepError
	for {
		now := clock.Now()
		due, err := store.TakeOverdue(ctx, now.UnixMilli(), now.Add(period).UnixMilli(), sweepBatch)
		failed.add(err)
		// also those that were moved before an error: they are not due again before next
		sent := failed.wake(ctx, waker, due)
		if ctx.Err() != nil || len(due) < sweepBatch || sent == 0 {
			return failed.orNil()
		}
	}
}

// EntryError is the failure of one due thread.
type EntryError struct {
	Wakeup
	Err error
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("thread %s of tenant %q: %v", e.Thread, e.Tenant, e.Err)
}

// Unwrap is what failed.
func (e *EntryError) Unwrap() error { return e.Err }

// Failures are what went wrong beside what succeeded, in order; an [*EntryError] where one thread
// failed.
type Failures []error

func (f Failures) Error() string {
	return fmt.Sprintf("%d failed, the first: %v", len(f), f[0])
}

// Unwrap makes every failure visible to [errors.Is].
func (f Failures) Unwrap() []error { return f }

// SweepError is what a sweep could not do. Everything else that was due has been woken.
type SweepError struct {
	Woken int
	Failures
}

func (e *SweepError) Error() string { return fmt.Sprintf("%d woken, %v", e.Woken, e.Failures) }

// sweepLogged bounds the lines of one sweep.
const sweepLogged = 10

// Log writes a warning for each failure, up to a bound, so that the thread can be found.
func (e *SweepError) Log(log *slog.Logger) {
	for i, failure := range e.Failures {
		if i == sweepLogged {
			log.Warn("further threads could not be woken", "threads", len(e.Failures)-i)
			return
		}
		if entry, ok := errors.AsType[*EntryError](failure); ok {
			log.Warn("a due thread could not be woken; the next sweep tries again", "tenant", entry.Tenant, "thread", entry.Thread, "error", entry.Err)
		} else {
			log.Warn("some due entries could not be read; the next sweep tries again", "error", failure)
		}
	}
}

func (e *SweepError) add(err error) {
	if several, ok := errors.AsType[Failures](err); ok {
		e.Failures = append(e.Failures, several...)
	} else if err != nil {
		e.Failures = append(e.Failures, err)
	}
}

// wake sends the wake-ups and says how many were sent.
func (e *SweepError) wake(ctx context.Context, waker Waker, due []Wakeup) (sent int) {
	for _, w := range due {
		if err := waker.Send(ctx, w, 0); err != nil {
			e.Failures = append(e.Failures, &EntryError{w, err})
			continue
		}
		sent++
	}
	e.Woken += sent
	return sent
}

func (e *SweepError) orNil() error {
	if len(e.Failures) == 0 {
		return nil
	}
	return e
}
