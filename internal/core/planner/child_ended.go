package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
)

// The end of a child answers its call as a decision does: it is bound to the suspension, and all
// results that are there are taken in one turn. A call that stops waiting for another reason gives
// its child up, and the run owes that child a cancel until it is stored there.
//
//	inbox: child ── applyChild ── the call's result
//	deadline, abandon, end ── giveUpChild ── commit {outbox: cancel} ── cancel

// applyChild gives the result of a child to the call that waits for exactly this one.
func (d *draft) applyChild(s delivery) error {
	result := inbox.Child(s.value)
	call, ok := d.call(s.Call)
	c := d.h.Calls[s.Call]
	waits := ok && c.Kind == core.KindChild && c.WaitsOn(s.key)
	d.recordChild(s, result, waits)
	if !waits {
		return nil
	}
	d.forgetChild(s.key)
	if err := d.move(call.ID, core.CallResuming); err != nil {
		return err
	}
	if d.over == nil {
		d.over = d.overCost(false)
	}
	if result.Outcome == core.CallOutcomeSucceeded {
		d.executed(call, false)
		return d.result(call, core.CallOutcomeSucceeded, core.Answered(result.Value))
	}
	d.executed(call, true)
	return d.refuse(call, result.Outcome, phrase.ChildEnded(d.round.Questions[s.key].Child.Agent, result))
}

// recordChild journals the end of a child, and counts what it has used.
func (d *draft) recordChild(s delivery, r core.ChildResult, applied bool) {
	d.h.Below, d.heard[s.key] = d.h.Below.Plus(r.Usage), true
	d.event(core.EventChildEnded, events.ChildEnded{CallID: s.Call, Suspension: s.key, RunID: core.ChildRun(d.h.Tenant, d.h.Thread, s.key), Outcome: r.Outcome,
		Code: r.Code, Detail: r.Detail, Applied: applied, Usage: events.TreeUsageOf(r.Usage)}, 0)
}

// giveUpChild notes that a child is no longer waited for. If it was not launched yet, it never
// needs to be: a launch that is under way starts a run that finds no parent, and the cancel one
// that is not there. Its result will not be heard, so all that it was allowed counts as spent.
func (d *draft) giveUpChild(sus string) {
	if child := d.round.Questions[sus].Child; child != nil && !d.heard[sus] {
		d.h.Below = d.h.Below.Plus(core.TreeUsage{Forfeited: child.Allowance})
	}
	d.forgetChild(sus)
	d.h.Out[core.CancelKey(sus)] = core.Out{Kind: core.OutCancel}
	d.must = true
}

// forgetChild drops what was still to be sent to a child.
func (d *draft) forgetChild(sus string) {
	delete(d.h.Out, core.LaunchKey(sus))
	delete(d.h.Out, core.PauseKey(sus))
	delete(d.h.Out, core.GoOnKey(sus))
}

// tellParent notes that the run's parent must be told of its end. One that its parent never waited
// for tells no one.
func (d *draft) tellParent() {
	if d.h.Parent != nil && !d.v.Disowned {
		d.h.Out[core.OutboxTell] = core.Out{Kind: core.OutTell}
	}
}
