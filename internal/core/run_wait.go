package core

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// The run itself can wait: for an answer before its first step, or because a caller interrupted it.
// It does so on a synthetic call, which no model asked for and none sees.

// suspendRun makes the run wait on a call that no model asked for.
func (d *draft) suspendRun(kind Kind, t SuspendTicket) error {
	call := syntheticCall(fmt.Sprintf("%s:%s", kind, d.v.Fresh()))
	d.h.Calls[call.ID] = Call{Synthetic: true}
	d.round.Calls = append(d.round.Calls, call)
	return d.suspend(call, kind, t)
}

func syntheticCall(id string) ToolCall {
	return ToolCall{ID: id, Arguments: json.RawMessage("{}")}
}

// settleRunWait lets the run go on after an answer to its own wait, or ends it if that was a no.
func (d *draft) settleRunWait(call ToolCall, rec DecisionRecord) error {
	c := d.h.Calls[call.ID]
	status, how := CallSucceeded, CallOutcomeSucceeded
	switch {
	case c.Kind == KindInterrupt:
	case rec.Action == ActionCancel, rec.Error != "":
		status, how = CallCancelled, refusedBy(KindApproval).orTimedOut(rec)
		d.over = &Reason{Kind: Blocked, Code: CodeStartDenied, Detail: cmp.Or(rec.Error, cmp.Or(rec.Reason, "what the run waited for before its first step was refused"))}
	case !IsNull(rec.Result):
		d.message(Message{Role: RoleSystem, Parts: TextParts(resultText(rec.Result))})
		d.h.ModelSawAll = false
	}
	return d.settleCall(call, status, how, Message{})
}
