package core

import "cmp"

// A denied call never runs. A rule denies it (denyByRule), a hook or the runtime refuses it
// (refuse), or an approver says no (cancelCall). Either way it has a result that tells the model
// why.

// denyByRule fails a call that the verdict forbids. otherwise is the reason if the rule gives none.
// The model sees it and goes on, unless the effect is block: then the run ends with
// [blockedByRule].
func (d *draft) denyByRule(call ToolCall, v Verdict, otherwise string) error {
	why := cmp.Or(v.Reason, otherwise)
	if v.Effect == Block {
		return d.refuse(call, CallOutcomeBlocked, "Blocked: "+why)
	}
	return d.refuse(call, CallOutcomeDeniedByRule, "Not allowed: "+why)
}

// blockedByRule is why a run ends that a verdict blocks.
func blockedByRule(v Verdict, otherwise string) *Reason {
	return &Reason{Kind: Blocked, Code: CodeBlockedByRule, Detail: cmp.Or(v.Reason, otherwise)}
}

// noReasonForCall is said of a call that a rule forbids without a reason of its own.
const noReasonForCall = "a rule forbids this call."

// refuse fails a call whose body never runs.
func (d *draft) refuse(call ToolCall, how CallOutcome, why string) error {
	return d.result(call, how, Outcome{Failed: true, Text: why})
}

// cancelCall closes a call that a decision refused.
func (d *draft) cancelCall(call ToolCall, how CallOutcome, text string) error {
	added, err := d.after(call, Outcome{Failed: true, Text: text})
	if err != nil {
		return err
	}
	m := textResult(text)
	m.Added = added
	return d.settleCall(call, CallCancelled, how, m)
}

func refusalText(k Kind, reason string) string {
	text := "Cancelled: there is no result."
	switch k {
	case KindApproval:
		text = "Not approved: the call did not run."
	case KindUnknownOutcome:
		text = "Cancelled: it is not known whether the call took effect, and it was not run again."
	}
	if reason != "" {
		text += " Reason: " + reason
	}
	return text
}

// refusedBy is the outcome of a wait of this kind that was answered with cancel.
func refusedBy(k Kind) CallOutcome {
	switch k {
	case KindApproval:
		return CallOutcomeDeniedByPerson
	case KindUnknownOutcome:
		return CallOutcomeLost
	}
	return CallOutcomeDeclined
}

// invalid fails a call whose arguments are refused. The model can correct them.
func (d *draft) invalid(call ToolCall, why string) error {
	d.event(EventCallInvalid, map[string]any{"call_id": call.ID, "tool_name": call.Name, "detail": why}, 0)
	return d.refuse(call, CallOutcomeInvalidArguments, "The arguments are not valid: "+why)
}
