package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/children"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/poll"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// suspend makes a call wait, under a fresh id.
func (d *draft) suspend(call core.ToolCall, kind core.Kind, t core.SuspendTicket) error {
	if err := d.move(call.ID, core.CallSuspended); err != nil {
		return err
	}
	t.Suspension.ID = core.SuspensionID(d.h.Thread, d.seq(), d.v.Fresh())
	if !depth.Valid(t.Suspension.ResponseSchema) {
		t.Suspension.ResponseSchema = nil
	}
	if t.Child != nil {
		t.Child = children.Identified(*t.Child, d.h, t.Suspension.ID)
	}
	t.Pending = core.PendingCall(d.effective(call))
	poll.NameDeciders(&t, kind, d.v.Rules.Terms())
	sus := core.NewSuspendedCall(call, kind, t)
	times := d.timesOf(call, kind, t)
	sus.Deadline, sus.Moments = times.Deadline, times.Moments
	sus.Grantable = kind == core.KindApproval && d.h.Calls[call.ID].GrantOffered != "" && !t.Counted()
	d.change(call.ID, func(c *core.Call) {
		c.Kind, c.Mode, c.Sus, c.IntentEpoch, c.HooksEpoch, c.Deadline = kind, t.ResumeMode, t.Suspension.ID, 0, 0, sus.Deadline
		c.Suspensions++
		c.InvalidAnswers, c.Refused, c.Moments, c.Escalated, c.Above = 0, 0, 0, false, ""
	})
	d.place(call)
	d.round.Keep(sus)
	d.round.Ask(sus)
	if t.Counted() {
		d.opens[t.Suspension.ID] = vote.Tally{}
	}
	d.event(core.EventCallSuspended, sus, 0)
	d.must = true
	return nil
}

// suspendSelf suspends a call at its tool's request. In a sequential round, later calls that have
// not started are held behind it.
func (d *draft) suspendSelf(call core.ToolCall, o plans.BodyOutcome) error {
	kind := o.Kind
	if kind == core.KindNone {
		kind = kindOf(o.Ticket.ResumeMode)
	}
	d.change(call.ID, func(c *core.Call) {
		c.GrantOffered, c.AskDigest, c.PassedDecision, c.RanBefore = "", "", "", c.RanBefore+1
	}) // what the tool asks is not what a rule did
	ticket := *o.Ticket
	ticket.Scratch = o.Scratch
	if err := d.suspend(call, kind, ticket); err != nil {
		return err
	}
	behind := false
	for _, other := range d.round.Calls {
		c, tracked := d.h.Calls[other.ID]
		if behind && tracked && c.Status == core.CallNew && !d.v.Rules.Terms().Parallel {
			d.change(other.ID, func(c *core.Call) { c.HeldBehind = call.ID })
		}
		behind = behind || other.ID == call.ID
	}
	return nil
}

// kindOf returns the kind of a wait that doesn't state one: an approval if the call runs again, an
// input otherwise.
func kindOf(m core.ResumeMode) core.Kind {
	if m == core.ReplayToolCall {
		return core.KindApproval
	}
	return core.KindInput
}

// place writes a placeholder for the result of a call, once.
func (d *draft) place(call core.ToolCall) {
	if c := d.h.Calls[call.ID]; c.PlaceholderWritten || c.Synthetic || c.Suspensions > 1 {
		return
	}
	d.change(call.ID, func(c *core.Call) { c.PlaceholderWritten = true })
	d.message(core.Message{Role: core.RoleTool, CallID: call.ID, Tool: call.Name, Parts: core.TextParts(phrase.Placeholder), Pending: true})
}

// placeHeld prepares a round for a model call that doesn't wait for it: held calls get
// placeholders, so the model doesn't request them again, and held finish calls are refused.
func (d *draft) placeHeld() error {
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		if !tracked || c.Status != core.CallNew || c.HeldBehind == "" {
			continue
		}
		if spec, _ := d.v.Rules.Tool(call.Name); spec.Finish {
			if err := d.refuse(call, core.CallOutcomeNotFinished, "Not finished: another call of this turn still waits for an answer."); err != nil {
				return err
			}
			continue
		}
		d.place(call)
	}
	return nil
}
