package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
)

// An approval answers one ask of the gate. The gate is asked again before the body runs, and only
// that ask is waived.
//
//	gate: ask ── askApproval ── apply: approve ── replay ── gate: ask, lifted ── cleared

// askApproval suspends a call until an approver decides whether it may run, with a preview of its
// effect.
func (d *draft) askApproval(call core.ToolCall, v core.Verdict) error {
	preview, err := d.preview(call)
	if err != nil {
		return err
	}
	d.letThrough(call)
	d.change(call.ID, func(c *core.Call) { c.GrantOffered, c.AskDigest = v.Grant, v.Asks() })
	return d.suspend(call, core.KindApproval, core.SuspendTicket{ResumeMode: v.Mode, NotBy: v.NotBy, Policy: v.Policy, Preview: preview, Suspension: core.Suspension{Action: "approve",
		Message: phrase.RuleAsks(call, v), ResponseSchema: v.Schema}})
}

// verdict returns the gate's verdict on the call with its effective arguments and the current
// state, after approvals and grants.
func (d *draft) verdict(call core.ToolCall) (v core.Verdict, granted bool) {
	return d.lifted(call, d.gateOn(d.effective(call)))
}

// lifted returns what remains of a gate's verdict. An approval waives the ask that it answered, and
// a grant those that it covers. A result that replaces the body stays.
func (d *draft) lifted(call core.ToolCall, v core.Verdict) (rest core.Verdict, granted bool) {
	if v.Effect != core.Ask {
		return v, false
	}
	if v.Mode != core.ReplayToolCall {
		// there, an approval is an answer to this call, and no word on what may run
		v.Grant = ""
	}
	waived := d.h.Calls[call.ID].Waives(v)
	granted = !waived && d.granted(v.Grant)
	switch {
	case !waived && !granted:
	case v.Result != nil:
		v.Effect = core.SetResult
	default:
		v.Effect = core.Allow
	}
	return v, granted
}
