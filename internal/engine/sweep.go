package engine

import (
	"context"
	"time"
)

// sweepBatch is how many entries are moved at a time.
const sweepBatch = 100

// Sweep wakes every thread that is due: first its entry is moved a period ahead, then the wake-up is sent, so that several sweeps
// do not send it twice and a sweep that can do only a part gets to the rest the next time. What a crash leaves unsent comes
// back a period later. It is the safety net of everything: a lost wake-up, a lost owner, a deadline.
func Sweep(ctx context.Context, store Overdue, waker Waker, clock Clock, period time.Duration) error {
	for {
		now := clock.Now()
		due, err := store.TakeOverdue(ctx, now.UnixMilli(), now.Add(period).UnixMilli(), sweepBatch)
		for _, w := range due { // also those that were moved before an error: nobody else finds them before next
			if err := waker.Send(ctx, w, 0); err != nil {
				return err
			}
		}
		if err != nil || len(due) < sweepBatch {
			return err
		}
	}
}
