package planner

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// A decision that arrives while bodies run is applied beside them. One commit makes it durable
// before the approved body begins:
//
//	A runs ─────────────────────────────────────── ends
//	       decision on B ── {decision, intent of B, outcomes that came} ── B runs
//
// The view lists the bodies in flight. Code that settles calls skips the calls of these bodies, and
// the owner keeps its claim as long as one runs.

// flying says whether any body is in flight.
func (d *draft) flying() bool { return len(d.v.InFlight) > 0 }

// inFlight says whether the body of the call is in flight.
func (d *draft) inFlight(call core.ToolCall) bool {
	return slices.ContainsFunc(d.v.InFlight, func(f plans.InFlight) bool { return f.CallID == call.ID })
}

// await commits what must be durable, then asks to wait.
func (d *draft) await() plans.Plan {
	if d.must {
		return d.commit()
	}
	return plans.AwaitBodies{}
}
