package engine

import (
	"context"
)

// RunControl yields and cancels runs from outside. It is polled, and its answers may change. It
// answers at once, and neither fails nor panics. Package runcontrol makes one of functions that
// may. Safe for concurrent use.
type RunControl interface {
	// ShouldYield is asked after the model's answer and before it is accepted. True drops the
	// answer, which is counted and journaled, and the model is asked again later.
	ShouldYield(ctx context.Context, run RunRef) bool

	// IsCancelled is asked between the parts of a step and while a body or the model runs. True
	// ends the run as cancelled.
	IsCancelled(ctx context.Context, run RunRef) bool
}

// RunRef names a run.
type RunRef struct{ Tenant, Thread, Run, Agent string }
