package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// commit sends one write until it is answered, and takes the head it leaves.
func (a *activation) commit(ctx context.Context, c *plans.Commit) error {
	req := CommitRequest{Next: c.Head, Segment: c.Segment, Drained: c.Drained, Votes: c.Votes, AllSeen: c.AllSeen, Seen: a.view.Head.Sigs, Due: c.Due, Settle: a.settles(c)}
	if c.Wake != nil {
		req.Wake = &Delay{time.Duration(*c.Wake) * time.Millisecond}
	}
	w, err := traced(ctx, a.e, "commit", func(ctx context.Context) (Written, error) {
		defer a.rest()()
		return retryingFor(ctx, a.e, a.patience(), func() (Written, error) { return a.e.o.Store.Commit(ctx, req) })
	})
	if errors.Is(err, ErrSignals) {
		// Only the inbox is newer: epoch and revision are still those of this owner.
		a.view.Head = w.Head
		return ErrSignals
	}
	if err != nil {
		return err
	}
	a.report.Commits++
	a.report.Settled, a.report.Next = w.Settled, w.Next
	a.view = a.view.After(w.Head, c)
	if c.Segment != nil {
		a.thread.Committed(*c.Segment)
	}
	a.announce(c.Segment)
	a.endLive()
	if c.Wake != nil && !w.Woken {
		return a.wake(ctx, req.Wake.For)
	}
	return nil
}

// patience is how long calls to an unavailable store are retried. While bodies are in flight, that
// is as long as they may run: giving up would stop them.
func (a *activation) patience() time.Duration {
	if a.flight == nil {
		return a.e.o.Patience
	}
	return max(a.e.o.Patience, a.timeLeft())
}

// wake sends the next step's message. If that fails, the queue redelivers the current message
// instead: everything is committed, so it finds the next step. If that message is also lost, the
// sweep finds the run by its due time.
func (a *activation) wake(ctx context.Context, delay time.Duration) error {
	h := a.view.Head
	_, err := retrying(ctx, a.e, func() (struct{}, error) {
		return struct{}{}, a.e.o.Waker.Send(ctx, Wakeup{Tenant: h.Tenant, Thread: h.Thread}, delay)
	})
	if err != nil {
		return fmt.Errorf("sending the wake-up for what comes next: %w", err)
	}
	return nil
}
