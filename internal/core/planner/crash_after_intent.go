package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
)

// An owner that finds an intent of another epoch does not run the body again: it asks a person what
// happened.
//
//	intend ── commit ── body ──✗   next: settleRunning ── askWhatHappened ── settleResuming

// settleRunning clears a call whose body this owner is about to run, or may repeat. An at-most-once
// body that another owner began has an unknown outcome, so a person is asked.
func (d *draft) settleRunning(call core.ToolCall) error {
	if !d.runsAgain(call) || d.stopped[call.ID] && d.atMostOnce(call) {
		return d.askWhatHappened(call)
	}
	d.cleared[call.ID] = true
	return nil
}

// runsAgain reports whether the body of a running call may run: this owner committed its intent, or
// the tool is at-least-once.
func (d *draft) runsAgain(call core.ToolCall) bool {
	return d.h.Calls[call.ID].IntendedBy(d.h.Epoch) || !d.atMostOnce(call)
}

// askWhatHappened suspends an at-most-once call whose outcome is unknown.
//
//	intent committed ── body ──✗ crash               the body ran, or not, or in part
//	                          next owner: ask a person what happened
func (d *draft) askWhatHappened(call core.ToolCall) error {
	d.change(call.ID, func(c *core.Call) { c.RanBefore++ })
	// an approver who is barred from the call may not have it run again either
	v := d.gateOn(d.effective(call))
	return d.suspend(call, core.KindUnknownOutcome, core.SuspendTicket{NotBy: v.NotBy, Policy: v.Policy, Suspension: core.Suspension{Action: "report_outcome", Message: phrase.OutcomeUnknown(call)}})
}
