package core

import "cmp"

// An approval answers one ask of the gate. The gate is asked again before the body runs, and only
// that ask is waived.
//
//	gate: ask ── askApproval ── apply: approve ── replay ── gate: ask, lifted ── cleared

// askApproval suspends a call until an approver says whether it may run, with the preview of what
// it would do.
func (d *draft) askApproval(call ToolCall, v Verdict) error {
	preview, err := d.preview(call)
	if err != nil {
		return err
	}
	d.letThrough(call)
	d.change(call.ID, func(c *Call) { c.GrantOffered, c.AskDigest = v.Grant, v.asks() })
	return d.suspend(call, KindApproval, SuspendTicket{ResumeMode: v.Mode, NotBy: v.NotBy, Preview: preview, Suspension: Suspension{Action: "approve",
		Message: cmp.Or(v.Reason, call.Name+" needs approval before it runs."), ResponseSchema: v.Schema}})
}

// asks is what a verdict asks, and whom it bars, in short: an approval lifts the ask that it
// answered, and no other that has come up since. One that bars no one is digested as it was before
// rules could.
func (v Verdict) asks() string {
	text := v.Reason + "\x00" + v.Grant
	if v.NotBy != "" {
		text += "\x00" + v.NotBy
	}
	return Digest([]byte(text))[:12]
}

// approve notes that an approver let the call run, and which ask that satisfied.
func (a *Approval) approve() {
	a.Approved = true
	if a.AskDigest != "" {
		a.WaivedAsk = a.AskDigest
	}
}

// waives says whether an approval has satisfied what the verdict asks.
func (a Approval) waives(v Verdict) bool {
	return a.WaivedAsk == anyAsk || a.WaivedAsk != "" && a.WaivedAsk == v.asks()
}

// verdict is what the gate says of a call with the arguments that run, on the state as it is, once
// the approvals are looked at.
func (d *draft) verdict(call ToolCall) (v Verdict, granted bool) {
	return d.lifted(call, d.gateOn(d.effective(call)))
}

// lifted is what is left of a gate's verdict. An approval lifts the ask that it answered, and a
// grant lifts those that it covers; a result that is given in place of the body stays.
func (d *draft) lifted(call ToolCall, v Verdict) (rest Verdict, granted bool) {
	if v.Effect != Ask {
		return v, false
	}
	if v.Mode != ReplayToolCall {
		v.Grant = "" // there, an approval is an answer to this call, and no word on what may run
	}
	waived := d.h.Calls[call.ID].waives(v)
	granted = !waived && d.granted(v.Grant)
	switch {
	case !waived && !granted:
	case v.Result != nil:
		v.Effect = SetResult
	default:
		v.Effect = Allow
	}
	return v, granted
}
