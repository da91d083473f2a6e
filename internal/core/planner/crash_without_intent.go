package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// rememberOrphans marks the calls whose bodies a crashed owner may have begun, before a commit
// makes this owner look like the one that began them. A later owner that runs a body passes the
// mark on.
//
//	owner 1: body ──✗ crash    owner 2: interrupt ── commit, waits    owner 3: body, marked
func (d *draft) rememberOrphans() {
	if !d.v.Orphaned {
		return
	}
	for id, before := range d.v.Head.Calls {
		if now, there := d.h.Calls[id]; there && before.Runnable() && now.Runnable() {
			d.change(id, func(c *core.Call) { c.MayHaveBegun = true })
		}
	}
}

// settleCrashing gives up on the call whose body appears to crash the worker: it fails, or a person
// is asked if the body is at-most-once.
func (d *draft) settleCrashing() (took bool, err error) {
	if d.v.Limits.BodyTries == 0 || d.h.Tries < d.v.Limits.BodyTries {
		return false, nil
	}
	batch := d.batch()
	if len(batch) == 0 {
		return false, nil
	}
	call := batch[0]
	d.h.Tries = 0
	d.must = true
	if d.atMostOnce(call) {
		if err := d.begin(call); err != nil {
			return false, err
		}
		return true, d.askWhatHappened(call)
	}
	return true, d.refuse(call, core.CallOutcomeLost, "The outcome of this call is unknown: the worker crashed repeatedly before or while it ran.")
}

// mayHaveRun reports whether the body of a call that is closed without an outcome may have taken
// effect: it was begun, or a crashed owner may have begun it. c is the call as it was before.
func (d *draft) mayHaveRun(call core.ToolCall, c core.Call) bool {
	begun := c.Status == core.CallRunning || c.Status == core.CallSuspended && (c.Kind == core.KindUnknownOutcome || c.Kind == core.KindChild)
	return begun || d.closing && d.mayHaveBegun(call)
}

// mayHaveBegun reports whether a crashed owner may have begun a body that needs no intent: its gate
// allowed it.
func (d *draft) mayHaveBegun(call core.ToolCall) bool {
	c, committed := d.v.Head.Calls[call.ID]
	spec, ok := d.v.Rules.Tool(call.Name)
	if !committed || !ok || spec.Client || spec.Agent || spec.Finish || c.HeldBehind != "" || d.atMostOnce(call) {
		return false
	}
	if lost := c.MayHaveBegun || c.HooksEpoch != 0 && c.HooksEpoch != d.h.Epoch || d.v.Orphaned; !lost {
		return false
	}
	rec := d.round.Decisions[c.Sus]
	runs := c.Status == core.CallNew ||
		c.Status == core.CallResuming && rec.Approves() && c.Mode != core.UseDecisionAsToolResult
	v, _ := d.verdict(call)
	return runs && v.Effect == core.Allow
}
