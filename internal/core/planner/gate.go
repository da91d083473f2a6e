package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// gate applies the verdict on a call that is new or comes back with a decision. A new call that is
// not simply allowed waits for the bodies before it: they may change the state, and with it the
// verdict. Until then nothing is done about it.
func (d *draft) gate(call core.ToolCall, spec core.ToolSpec) (on bool, err error) {
	if last, keeps := d.keepsItsPlace(call); keeps {
		last, _ = d.lifted(call, last)
		return last.Effect == core.Allow, nil
	}
	v, granted := d.verdict(call)
	if v.Effect != core.Allow && d.h.Calls[call.ID].Status == core.CallNew && (len(d.cleared) > 0 || d.flying()) {
		return false, nil
	}
	switch v.Effect {
	case core.Block:
		d.over = blockedByRule(v, noReasonForCall)
		return false, d.denyByRule(call, v, noReasonForCall)
	case core.Deny:
		return true, d.denyByRule(call, v, noReasonForCall)
	case core.SetResult:
		return true, d.result(call, core.CallOutcomeSetByRule, v.Given())
	case core.Ask:
		return true, d.askApproval(call, v)
	}
	d.letThrough(call)
	if spec.Client {
		return true, d.askClient(call, spec)
	}
	if child, ok := d.v.Rules.Child(d.effective(call)); ok {
		return true, d.startChild(call, child)
	}
	d.change(call.ID, func(c *core.Call) { c.ByGrant = granted })
	d.cleared[call.ID] = true
	return true, nil
}

// gateOn is what the gate says of a call on the state as it is.
func (d *draft) gateOn(call core.ToolCall) core.Verdict {
	v, known := d.v.Gates.At(d.revision, call)
	if !known {
		v = d.v.Rules.Gate(call, d.state)
		if v.Effect == core.Ask && v.Policy == nil {
			v.Policy = d.v.Rules.Terms().Policy
		}
		d.v.Gates.Note(d.revision, call, v)
	}
	return v
}

// keepsItsPlace says whether nothing is done about a call now, and what the gate said of it last.
// The state has changed since the gate was asked, and the body of another call of a sequential
// round runs first and may change it again. The gate is asked once more when nothing runs before
// the call. Until then no body, suspension or result rests on the old verdict.
func (d *draft) keepsItsPlace(call core.ToolCall) (last core.Verdict, keeps bool) {
	if d.v.Rules.Terms().Parallel || !d.bodyRunsFirst() {
		return core.Verdict{}, false // its own body may be in the next batch
	}
	call = d.effective(call)
	if _, fresh := d.v.Gates.At(d.revision, call); fresh {
		return core.Verdict{}, false
	}
	return d.v.Gates.Last(call)
}

// bodyRunsFirst says whether a call is cleared already, or runs: the next batch of a sequential
// round is one call, and none that is looked at now.
func (d *draft) bodyRunsFirst() bool {
	if len(d.cleared) > 0 {
		return true
	}
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; tracked && c.Status == core.CallRunning && d.runsAgain(call) {
			return true
		}
	}
	return false
}
