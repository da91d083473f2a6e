package planner

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// Decide returns what the owner of a run does next. It is pure except for v.Fresh and the memo
// v.Gates: the same view gives the same plan.
//
// An error comes without a plan. It names a contradiction in the view or a part of it that can't be
// read: a bug, or damaged data. Nothing may be written then, and the same view gives the same error
// again.
func Decide(v plans.View) (plans.Plan, error) {
	plan, err := newDraft(v).decide()
	if torn, ok := errors.AsType[core.Conflict](err); ok {
		plan, err = newDraft(v).endInConflict(torn)
	}
	if hooks, ok := errors.AsType[unfired](err); ok {
		return plans.FireHooks(hooks), nil
	}
	if ahead, ok := errors.AsType[unpreviewed](err); ok {
		return plans.ReadPreview{Call: ahead.read}, nil
	}
	if child, ok := errors.AsType[unfound](err); ok {
		return plans.FindAgent{Name: child.agent}, nil
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// decide makes one pass over the view. It stops early with an [unfired], an [unpreviewed] or
// an [unfound] if something must be asked or read first, or with a [core.Conflict] if the outcomes
// contradict each other.
func (d *draft) decide() (plans.Plan, error) {
	d.foldOutbox()
	if owed := d.owesNow(); len(owed) > 0 {
		return plans.SendOutbox{Keys: owed}, nil
	}
	if d.parked() {
		return d.park(), nil
	}
	if d.h.End != nil {
		return d.afterEnd()
	}
	d.yield()
	if err := d.foldTurn(); err != nil {
		return nil, err
	}
	if err := d.foldOutcomes(); err != nil {
		return nil, err
	}
	d.foldReport()
	if reason := d.mustEnd(); reason != nil {
		return d.end(*reason)
	}
	if err := d.applyInbox(); err != nil {
		return nil, err
	}
	if plan, settled, err := d.foldFailure(); settled || err != nil {
		return plan, err
	}
	if err := d.startRun(); err != nil {
		return nil, err
	}
	if d.h.Peer != nil {
		return d.goElsewhere()
	}
	return d.goOn()
}

// mustEnd returns why the run must end now, even if other work is pending, or nil.
func (d *draft) mustEnd() *core.Reason {
	switch cancel, cancelled := d.h.Inbox[core.KeyCancel]; {
	case cancelled, d.v.Cancelled:
		return &core.Reason{Kind: core.Cancelled, By: cancel.By, Via: cancel.Via}
	case d.v.Disowned, d.v.AncestorGone:
		return &core.Reason{Kind: core.Cancelled, Via: core.ViaAgent}
	case d.h.Tries > d.v.Limits.Claims:
		return &core.Reason{Kind: core.Failed, Code: "crash_loop", Detail: "workers crashed repeatedly while working on this run"}
	case d.v.Broken != nil:
		return d.v.Broken
	}
	return d.over
}

// goOn settles the calls that need no body and continues with next, or ends the run.
func (d *draft) goOn() (plans.Plan, error) {
	if d.over == nil {
		if err := d.settle(); err != nil {
			return nil, err
		}
	}
	if d.over == nil {
		d.over = d.v.Ending
	}
	if d.over != nil {
		return d.end(*d.over)
	}
	return d.next()
}

// next chooses what to do once everything known is folded in and every call that needs no body is
// settled.
func (d *draft) next() (plans.Plan, error) {
	if d.h.Interrupt() != "" {
		return d.whileInterrupted()
	}
	if batch := d.batch(); len(batch) > 0 {
		return d.runBodies(batch)
	}
	if d.flying() {
		return d.await(), nil
	}
	if plan, finished, err := d.finish(); finished || err != nil {
		return plan, err
	}
	round := core.AggregateOf(d.h.Calls)
	switch {
	case round == core.Executing:
		return nil, errors.New("core: a call can go on, and there is nothing to do for it")
	case round == core.Waiting && !d.goesOn():
		return d.releaseWaiting()
	}
	if err := d.placeHeld(); err != nil {
		return nil, err
	}
	if err := d.endStep(); err != nil {
		return nil, err
	}
	switch {
	case d.over != nil:
		return d.end(*d.over)
	case round == core.StepComplete && d.h.ModelSawAll:
		return d.end(core.Reason{Kind: core.NaturalEnd})
	case d.mustAskForCost():
		return d.waitForCost()
	case d.v.ModelAsked || d.h.NotBefore > d.v.Now:
		return d.releaseRunning()
	case d.v.TimeUp, d.v.LeaseEnding:
		return d.releasePartial()
	case d.dirty():
		return d.commit(), nil
	}
	return d.ask()
}

// goesOn reports whether to call the model although calls are suspended: the definition allows it,
// the model hasn't seen everything, no synthetic call is open, the children have left something of
// the budget, and the head has capacity for more calls.
func (d *draft) goesOn() bool {
	if !d.v.Rules.Terms().Continue || d.h.ModelSawAll {
		return false
	}
	if _, spent := d.allowance(); spent && len(d.openChildren()) > 0 {
		return false
	}
	open := 0
	for _, c := range d.h.Calls {
		if c.Synthetic && !c.Status.Terminal() {
			return false
		}
		if !c.Status.Terminal() {
			open++
		}
	}
	return open < d.v.Limits.Calls
}

// again continues after a hook refused a call, because other calls may have waited for it.
func (d *draft) again(err error) (plans.Plan, error) {
	if err != nil {
		return nil, err
	}
	return d.goOn()
}
