package core

import (
	"encoding/json"
	"fmt"
)

// PlaceholderText stands in the log where a result will be.
const PlaceholderText = "This call waits for an answer; its result will follow."

// suspend makes a call wait, under a fresh id.
func (d *draft) suspend(call ToolCall, kind Kind, t SuspendTicket) error {
	if err := d.move(call.ID, CallSuspended); err != nil {
		return err
	}
	t.Suspension.ID = SuspensionID(d.h.Thread, d.seq(), d.v.Fresh())
	if !json.Valid(t.Suspension.ResponseSchema) || TooDeep(t.Suspension.ResponseSchema) {
		t.Suspension.ResponseSchema = nil
	}
	t.Pending = PendingCall(d.effective(call))
	if kind == KindApproval || kind == KindUnknownOutcome {
		t.Approvers = d.v.Rules.Terms().Approvers
	}
	sus := NewSuspendedCall(call, kind, t)
	sus.Deadline = d.deadlineOf(call, kind, t)
	sus.Grantable = kind == KindApproval && d.h.Calls[call.ID].Grant != ""
	d.change(call.ID, func(c *Call) {
		c.Kind, c.Mode, c.Sus, c.Intent, c.Ready, c.Deadline = kind, t.ResumeMode, t.Suspension.ID, 0, 0, sus.Deadline
		c.Times++
		c.Misfits = 0
	})
	d.place(call)
	d.round.keep(sus)
	d.event(EventCallSuspended, sus, 0)
	if d.v.Notify && kind != KindInterrupt { // whoever interrupts knows
		d.h.Out[NoticeKey(t.Suspension.ID)] = Out{Kind: OutNotify, Call: call.ID, Sus: t.Suspension.ID}
	}
	d.must = true
	return nil
}

// place puts a placeholder where the result of a call will be, once.
func (d *draft) place(call ToolCall) {
	if c := d.h.Calls[call.ID]; c.Placed || c.Pseudo || c.Times > 1 {
		return
	}
	d.change(call.ID, func(c *Call) { c.Placed = true })
	d.message(Message{Role: RoleTool, CallID: call.ID, Tool: call.Name, Parts: TextParts(PlaceholderText), Pending: true})
}

// placeHeld prepares a round for a model that goes on without waiting for it: calls that are held have a placeholder, so that they are not
// asked for again, and none of them ends the run later.
func (d *draft) placeHeld() error {
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		if !tracked || c.Status != CallNew || c.Hold == "" {
			continue
		}
		if spec, _ := d.v.Rules.Tool(call.Name); spec.Finish {
			if err := d.refuse(call, CallOutcomeNotFinished, "Not finished: another call of this turn still waits for an answer."); err != nil {
				return err
			}
			continue
		}
		d.place(call)
	}
	return nil
}

// deadlineOf is when a new suspension is closed. A tool's own wish counts before the definition's. What happened to a lost body is
// known or not, and time does not tell; and an interrupted run waits for whoever interrupted it.
func (d *draft) deadlineOf(call ToolCall, kind Kind, t SuspendTicket) int64 {
	within := t.Within
	if within == 0 {
		within = d.v.Rules.Deadline(call, kind).Within
	}
	if within <= 0 || kind == KindUnknownOutcome || kind == KindInterrupt {
		return 0
	}
	return d.v.Now + within
}

// deadline is the earliest of all suspended calls, 0 if none has one.
func (d *draft) deadline() (first int64) {
	for _, c := range d.h.Calls {
		if c.Status == CallSuspended && c.Deadline != 0 && (first == 0 || c.Deadline < first) {
			first = c.Deadline
		}
	}
	return first
}

// mostTimed bounds how many timed out suspensions of a run take a late answer.
const mostTimed = 32

// timeOut closes the calls whose deadline has passed and that nobody has answered. That closes a door: an answer that was accepted
// before this commit refuses it, is drained, and wins.
//
//	owner sees the deadline passed ── answer stored (202) ── commit: refused
func (d *draft) timeOut() error {
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Status != CallSuspended || c.Deadline == 0 || c.Deadline > d.v.Now {
			continue
		}
		d.openTurn(CauseDeadline)
		d.closes, d.must = true, true
		if len(d.h.Timed) < mostTimed {
			d.h.Timed[c.Sus] = 1
		}
		rec := DecisionRecord{CallID: call.ID, Suspension: c.Sus, By: "deadline", Via: ViaDeadline, Applied: true, TimedOut: true, Resume: d.lapse(call, c)}
		if err := d.apply(call, rec); err != nil {
			return err
		}
	}
	return nil
}

// lapse is what a deadline decides.
func (d *draft) lapse(call ToolCall, c Call) Resume {
	r := Resume{DecisionID: "deadline", Action: ActionResume, UpdatedAt: d.v.Now}
	switch limit := d.v.Rules.Deadline(call, c.Kind); {
	case limit.Outcome == DeadlineCancel:
		r.Action, r.Reason = ActionCancel, "nobody answered in time"
	case limit.Outcome == DeadlineResult && c.Kind != KindApproval:
		r.Result = limit.Result
	case c.Kind == KindApproval:
		r.Error = "Not run: nobody approved it in time."
	default:
		r.Error = "No answer came in time."
	}
	return r
}

// pause makes the run wait until it is told to go on. What it was about to do is done then.
func (d *draft) pause(id string) error {
	d.h.Interrupt = id
	return d.waitItself(KindInterrupt, SuspendTicket{ResumeMode: UseDecisionAsToolResult, Suspension: Suspension{Action: "continue",
		Message: "The run was interrupted. It goes on when it is resumed; a message lets it go on as well, unless a call waits for a decision."}})
}

// paused says whether the run waits because somebody asked it to.
func (d *draft) paused() bool {
	for _, c := range d.h.Calls {
		if c.Kind == KindInterrupt && c.Status == CallSuspended {
			return true
		}
	}
	return false
}

// waitItself makes the run wait on a call that no model asked for.
func (d *draft) waitItself(kind Kind, t SuspendTicket) error {
	call := pseudoCall(fmt.Sprintf("%s:%s", kind, d.v.Fresh()))
	d.h.Calls[call.ID] = Call{Pseudo: true}
	d.round.Calls = append(d.round.Calls, call)
	return d.suspend(call, kind, t)
}

func pseudoCall(id string) ToolCall {
	return ToolCall{ID: id, Arguments: json.RawMessage("{}")}
}

// settlePseudo lets the run go on after an answer to its own wait, or ends it if that was a no.
func (d *draft) settlePseudo(call ToolCall, rec DecisionRecord) error {
	c := d.h.Calls[call.ID]
	status, how := CallSucceeded, CallOutcomeSucceeded
	switch {
	case c.Kind == KindInterrupt:
	case rec.Action == ActionCancel, rec.Error != "":
		status, how = CallCancelled, refusedBy(KindApproval).orTimedOut(rec)
		d.over = &Reason{Kind: Blocked, Code: CodeStartDenied, Detail: orElse(rec.Error, orElse(rec.Reason, "what the run waited for before its first step was refused"))}
	case !IsNull(rec.Result):
		d.message(Message{Role: RoleSystem, Parts: TextParts(resultText(rec.Result))})
		d.h.Told = false
	}
	return d.settleCall(call, status, how, Message{})
}
