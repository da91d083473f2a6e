package planner

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// A denied call never runs. A rule denies it (denyByRule), a hook or the runtime refuses it
// (refuse), or an approver says no (cancelCall). Either way it has a result that tells the model
// why.

// denyByRule fails a call that the verdict forbids; otherwise is the reason if the rule gives none.
// The model sees the reason and continues, unless the effect is block: then the run ends with
// [blockedByRule].
func (d *draft) denyByRule(call core.ToolCall, v core.Verdict, otherwise string) error {
	why := cmp.Or(v.Reason, otherwise)
	if v.Effect == core.Block {
		return d.refuse(call, core.CallOutcomeBlocked, "Blocked: "+why)
	}
	return d.refuse(call, core.CallOutcomeDeniedByRule, "Not allowed: "+why)
}

// blockedByRule is why a run ends that a verdict blocks.
func blockedByRule(v core.Verdict, otherwise string) *core.Reason {
	return &core.Reason{Kind: core.Blocked, Code: core.CodeBlockedByRule, Detail: cmp.Or(v.Reason, otherwise)}
}

// noReasonForCall is the reason for a call that a rule forbids without stating one.
const noReasonForCall = "a rule forbids this call."

// refuse fails a call whose body never runs.
func (d *draft) refuse(call core.ToolCall, how core.CallOutcome, why string) error {
	return d.result(call, how, core.Outcome{Failed: true, Text: why})
}

// cancelCall closes a call that a decision refused.
func (d *draft) cancelCall(call core.ToolCall, how core.CallOutcome, text string) error {
	added, err := d.after(call, core.Outcome{Failed: true, Text: text})
	if err != nil {
		return err
	}
	m := core.TextResult(text)
	m.Added = added
	return d.settleCall(call, core.CallCancelled, how, m)
}

// refusedBy is the outcome of a wait of this kind that was answered with cancel.
func refusedBy(k core.Kind) core.CallOutcome {
	switch k {
	case core.KindApproval:
		return core.CallOutcomeDeniedByPerson
	case core.KindUnknownOutcome:
		return core.CallOutcomeLost
	}
	return core.CallOutcomeDeclined
}

// invalid fails a call whose arguments are invalid. The model can correct them.
func (d *draft) invalid(call core.ToolCall, why string) error {
	d.event(core.EventCallInvalid, map[string]any{"call_id": call.ID, "tool_name": call.Name, "detail": why}, 0)
	return d.refuse(call, core.CallOutcomeInvalidArguments, "The arguments are not valid: "+why)
}
