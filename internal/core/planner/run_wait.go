package planner

import (
	"cmp"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// The run itself can wait: for an answer before its first step, or because a caller interrupted it.
// It does so on a synthetic call, which no model asked for and none sees.

// suspendRun suspends the run itself on a synthetic call.
func (d *draft) suspendRun(kind core.Kind, t core.SuspendTicket) error {
	return d.suspendRunAs(fmt.Sprintf("%s:%s", kind, d.v.Fresh()), kind, t)
}

func (d *draft) suspendRunAs(id string, kind core.Kind, t core.SuspendTicket) error {
	call := core.SyntheticCall(id)
	d.h.Calls[call.ID] = core.Call{Synthetic: true}
	d.round.Calls = append(d.round.Calls, call)
	return d.suspend(call, kind, t)
}

// settleRunWait continues the run after an answer to its own wait, or ends it after a denial.
func (d *draft) settleRunWait(call core.ToolCall, rec core.DecisionRecord) error {
	if asksForCost(call.ID) {
		return d.settleCostAsk(call, rec)
	}
	c := d.h.Calls[call.ID]
	status, how := core.CallSucceeded, core.CallOutcomeSucceeded
	switch {
	case c.Kind == core.KindInterrupt:
	case rec.Action == core.ActionCancel, rec.Error != "":
		status, how = core.CallCancelled, refusedBy(core.KindApproval).OrTimedOut(rec)
		d.over = &core.Reason{Kind: core.Blocked, Code: core.CodeStartDenied, Detail: cmp.Or(rec.Error, cmp.Or(rec.Reason, "the request that the run made before its first step was denied"))}
	case !core.IsNull(rec.Result):
		d.message(core.Message{Role: core.RoleSystem, Parts: core.TextParts(core.ResultText(rec.Result))})
		d.h.ModelSawAll = false
	}
	return d.settleCall(call, status, how, core.Message{})
}

// abandonedWait is why the run ends if a message comes instead of an answer to its own wait:
// continuing without one is not an approval.
func (d *draft) abandonedWait(id string) *core.Reason {
	if asksForCost(id) {
		return d.costRefused("a message came instead of an answer")
	}
	return &core.Reason{Kind: core.Blocked, Code: core.CodeStartAbandoned, Detail: "no one answered the question that the run asked before its first step"}
}
