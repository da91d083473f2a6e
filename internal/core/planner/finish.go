package planner

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// The built-in tool finish ends the run with an output. It is looked at when every other call of
// its turn is settled, and accepted if the gate allows it and what it says is true; any other is
// refused, and the model goes on.

// finish runs the built-in tool that ends a run, once every other call of the turn is settled.
// finished says that the plan is made.
func (d *draft) finish() (plan plans.Plan, finished bool, err error) {
	waiting := ""
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == core.CallSuspended {
			waiting = call.ID
		}
	}
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		spec, _ := d.v.Rules.Tool(call.Name)
		switch {
		case !tracked || c.Status != core.CallNew || c.HeldBehind != "" || !spec.Finish:
			continue
		case waiting != "":
			d.change(call.ID, func(c *core.Call) { c.HeldBehind = waiting })
			continue
		}
		if plan, finished, err = d.finishWith(call); finished || err != nil {
			return plan, finished, err
		}
	}
	return nil, false, nil
}

// finishWith ends the run with the output of a finish call that the gate allows and that readFinish
// accepts. Otherwise it refuses the call, and the model sees why.
func (d *draft) finishWith(call core.ToolCall) (plans.Plan, bool, error) {
	switch v := d.gateOn(call); v.Effect {
	case core.Block:
		if err := d.denyByRule(call, v, noReasonForFinish); err != nil {
			return nil, false, err
		}
		plan, err := d.end(*blockedByRule(v, noReasonForFinish))
		return plan, true, err
	case core.Allow:
	default:
		return nil, false, d.denyByRule(call, v, noReasonForFinish)
	}
	f, why := d.readFinish(call)
	if why != "" {
		return nil, false, d.refuse(call, core.CallOutcomeNotFinished, why)
	}
	if err := d.result(call, core.CallOutcomeSucceeded, core.Outcome{Text: "Finished."}); err != nil {
		return nil, false, err
	}
	d.h.Finish, d.h.Response = call.ID, f.State
	plan, err := d.end(core.Reason{Kind: core.NaturalEnd})
	return plan, true, err
}

// noReasonForFinish is the reason for a finish call that a rule forbids without stating one.
const noReasonForFinish = "a rule forbids finishing now."

// finishing are the arguments of the finish tool.
type finishing struct {
	Output json.RawMessage    `json:"output"`
	State  core.ResponseState `json:"response_state"`
}

// finishes reports whether a turn consists of one finish call that will be accepted.
func (d *draft) finishes(calls []core.ToolCall) bool {
	if len(calls) != 1 || d.h.Calls[calls[0].ID].Status != core.CallNew {
		return false
	}
	spec, _ := d.v.Rules.Tool(calls[0].Name)
	if !spec.Finish || d.faults[calls[0].ID] != "" || d.check(calls[0]) != nil {
		return false
	}
	_, why := d.readFinish(calls[0])
	return why == "" && d.gateOn(calls[0]).Effect == core.Allow
}

// readFinish reads the call that would end the run, or says why it cannot end now.
func (d *draft) readFinish(call core.ToolCall) (f finishing, why string) {
	switch err := json.Unmarshal(call.Arguments, &f); {
	case err != nil:
		return f, "The arguments are not valid: output and response_state are expected."
	case d.turnFailed():
		return f, "Not finished: a call of the same turn did not succeed. Look at its result first."
	case d.h.UserSpokeSince:
		return f, "Not finished: the user has sent a message since. Answer it first."
	case f.State == core.ResponseNoOp && d.h.Wrote:
		return f, "Not finished: response_state is no_op, but this run has changed something."
	}
	return f, ""
}

// turnFailed reports whether a call of the current turn failed or was cancelled.
func (d *draft) turnFailed() bool {
	for _, c := range d.h.Calls {
		if c.TurnSegment == 0 && (c.Status == core.CallFailed || c.Status == core.CallCancelled) {
			return true
		}
	}
	return false
}
