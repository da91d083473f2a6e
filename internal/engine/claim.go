package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// until is when an activation that begins now must be over. One that had less time to work than is
// kept for writing down would only come again.
func (e *Engine) until(ctx context.Context) (time.Time, error) {
	now := e.o.Clock.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		return now.Add(e.o.Lease), nil
	}
	if deadline.Sub(now) < 2*e.o.Margin {
		return time.Time{}, ErrNoTime
	}
	return deadline, nil
}

// claim makes one claim. Its id is fresh for each call: two deliveries of one message must never
// count as one claim, or both workers would own the run under one epoch.
func (e *Engine) claim(ctx context.Context, w Wakeup, until time.Time) (core.Head, error) {
	req := e.claimUntil(w, until)
	return traced(ctx, e, "claim", func(ctx context.Context) (core.Head, error) {
		return retrying(ctx, e, func() (core.Head, error) { return e.o.Store.Claim(ctx, req) })
	})
}

// ClaimFor is a new claim for a step of a whole lease, for a store that receives the wake-up in the
// same write.
func (e *Engine) ClaimFor(w Wakeup) ClaimRequest {
	return e.claimUntil(w, e.o.Clock.Now().Add(e.o.Lease))
}

func (e *Engine) claimUntil(w Wakeup, until time.Time) ClaimRequest {
	end := until.Add(e.o.Skew).UnixMilli()
	grain := e.o.Grain.Milliseconds()
	return ClaimRequest{Tenant: w.Tenant, Thread: w.Thread, Claim: e.o.Random.Text(20), Now: e.o.Clock.Now().UnixMilli(), LeaseEnd: end,
		Due: (end + grain - 1) / grain * grain, Schema: core.SchemaVersion}
}

// settles is what a release does with the delivery of its step. One whose time was up leaves it to
// the caller, which gives it back.
func (a *activation) settles(c *plans.Commit) *Settle {
	if a.delivery.ID == "" || !c.Over || a.view.LeaseEnding {
		return nil
	}
	s := &Settle{Delivery: a.delivery}
	if h := c.Head; h.Status == core.RunRunning && c.Wake != nil && *c.Wake == 0 && a.goesOn != nil && a.goesOn() {
		claim := a.e.ClaimFor(Wakeup{Tenant: h.Tenant, Thread: h.Thread})
		s.Claim = &claim
	}
	return s
}

// ErrNoTime: too little of the context's time is left to begin an activation, so nothing was
// claimed.
var ErrNoTime = errors.New("engine: too little time is left for a step")
