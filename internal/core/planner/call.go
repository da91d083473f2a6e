package planner

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func (d *draft) call(id string) (core.ToolCall, bool) {
	for _, c := range d.round.Calls {
		if c.ID == id {
			_, tracked := d.h.Calls[id]
			return c, tracked
		}
	}
	return core.ToolCall{}, false
}

// move changes a call's status if the table allows it, and releases the calls held behind it once
// it is settled.
func (d *draft) move(id string, next core.CallStatus) error {
	c, ok := d.h.Calls[id]
	if !ok {
		return fmt.Errorf("core: call %q is not in this round", id)
	}
	to, err := c.Status.To(next)
	if err != nil {
		return err
	}
	c.Status = to
	if to.Terminal() {
		c.IntentEpoch = 0
		c.HeldBehind = ""
	}
	d.h.Calls[id] = c
	if !to.Terminal() {
		return nil
	}
	for other, o := range d.h.Calls {
		if o.HeldBehind == id {
			o.HeldBehind = ""
			d.h.Calls[other] = o
		}
	}
	return nil
}

// callState is the record of a call that events carry. Arguments and results are joined from
// messages, not repeated here.
func (d *draft) callState(call core.ToolCall) core.CallState {
	return core.CallState{CallID: call.ID, ToolName: call.Name, Status: d.h.Calls[call.ID].Status, UpdatedAt: d.v.Now}
}

// begin marks a call as running.
func (d *draft) begin(call core.ToolCall) error {
	if d.h.Calls[call.ID].Status == core.CallRunning {
		return nil
	}
	if err := d.move(call.ID, core.CallRunning); err != nil {
		return err
	}
	started := core.Started{CallState: d.callState(call), StartedAt: d.spans[call.ID].Began}
	started.Arguments = d.editedArguments(call)
	d.event(core.EventCallStarted, started, 0)
	return nil
}

// settleCall closes a call. result is what the model will see. A synthetic call has no result in
// the conversation, and the head forgets it.
func (d *draft) settleCall(call core.ToolCall, status core.CallStatus, how core.CallOutcome, result core.Message) error {
	if d.h.Calls[call.ID].Status != core.CallRunning {
		d.must = true // a verdict on the state as it is now: no later body may change it
	}
	before := d.h.Calls[call.ID]
	if err := d.move(call.ID, status); err != nil {
		return err
	}
	data := d.ended(call, before)
	if before.Status == core.CallSuspended && before.Kind.AsksSomeone() && how.Overtaken() {
		data.Suspension = before.Sus
	}
	d.passOnWait(before)
	if before.Synthetic {
		data.Outcome = how
		d.event(core.Settled[status], data, 0)
		delete(d.h.Calls, call.ID)
		return nil
	}
	failed := status != core.CallSucceeded
	result.Role, result.CallID, result.Tool, result.Error, result.Outcome = core.RoleTool, call.ID, call.Name, failed, how.Stored(failed)
	d.event(core.Settled[status], data, d.message(result))
	return nil
}

// ended returns the times and attempts of a closed call for its event. before is the call as it
// was.
func (d *draft) ended(call core.ToolCall, before core.Call) core.Ended {
	e := core.Ended{CallState: d.callState(call), Attempts: before.RanBefore}
	if s, ran := d.spans[call.ID]; ran {
		e.StartedAt = s.Began
		if s.Ended != d.v.Now {
			e.EndedAt = max(s.Began, s.Ended)
		}
		e.Attempts++
		if before.MayHaveBegun || d.v.Orphaned && before.IntentEpoch == 0 {
			e.Attempts++ // a crashed worker may have begun it
		}
	}
	e.MayHaveRun = e.Status == core.CallCancelled && d.mayHaveRun(call, before)
	return e
}
