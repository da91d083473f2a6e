package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// An interrupt asks the run to pause. It is journaled, suspends a synthetic call of the run, and
// from then on nothing begins. A resume, or a message, is the decision on that call.
//
//	applyInterrupt ── interrupt ── whileInterrupted … releaseWaiting
//	resumeInterrupted | a decision ── settleRunWait
//
// It goes down the tree: the children that the run waits for are paused by the same interrupt, and
// go on when it ends.

// applyInterrupt interrupts the run, unless it is interrupted already. An interrupt from above that
// is over there has no effect: a copy of it that arrives late would pause the run for ever.
//
//	above: interrupt ── sent ─ … ─ resume ── sent ── here: paused, goes on ── the late copy
func (d *draft) applyInterrupt(s delivery) error {
	fromAbove := s.key != core.KeyPause
	if d.h.Interrupt() != "" || fromAbove && d.v.ParentPaused != s.ID {
		d.recordInterrupt(s, false)
		return nil
	}
	d.recordInterrupt(s, true)
	if err := d.interrupt(); err != nil {
		return err
	}
	for id, c := range d.h.Calls {
		if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
			if fromAbove {
				d.change(id, func(c *core.Call) { c.Above = s.ID })
			}
			d.pauseChildren(d.h.Calls[id].Interrupt())
		}
	}
	return nil
}

// recordInterrupt journals who asked for it, or for its end, and whether it had an effect.
func (d *draft) recordInterrupt(s delivery, applied bool) {
	what := core.EventInterruptRecorded
	if s.Kind == core.SignalContinue {
		what = core.EventContinueRecorded
	}
	d.event(what, events.Asked{ID: s.ID, By: s.By, Via: s.Via, Applied: applied}, 0)
}

// pauseChildren notes that the children must be paused, too.
func (d *draft) pauseChildren(interrupt string) {
	for sus := range d.openChildren() {
		d.h.Out[core.PauseKey(sus)] = core.Out{Kind: core.OutInterrupt, ID: interrupt}
	}
}

// applyContinue lets a run go on that was paused from above, unless the run above is paused again:
// the signals of two interrupts may come in any order.
func (d *draft) applyContinue(s delivery) error {
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Kind != core.KindInterrupt || c.Status != core.CallSuspended || c.Above == "" || d.v.ParentPaused != "" {
			continue
		}
		d.recordInterrupt(s, true)
		if err := d.move(call.ID, core.CallResuming); err != nil {
			return err
		}
		d.passOnWait(c)
		return d.settleCall(call, core.CallSucceeded, core.CallOutcomeSucceeded, core.Message{})
	}
	d.recordInterrupt(s, false)
	return nil
}

// passOnWait tells the children what the end of a wait means for them: one that the call waited for
// is given up, and after an interrupt all go on. c is the call as it was before.
func (d *draft) passOnWait(c core.Call) {
	switch {
	case c.Status != core.CallSuspended:
	case c.Kind == core.KindChild:
		d.giveUpChild(c.Sus)
	case c.Kind == core.KindInterrupt:
		for sus := range d.openChildren() {
			delete(d.h.Out, core.PauseKey(sus))
			d.h.Out[core.GoOnKey(sus)] = core.Out{Kind: core.OutContinue, ID: c.Interrupt()}
		}
	}
}

// interrupt suspends the run until it is resumed. Work that has begun finishes first.
func (d *draft) interrupt() error {
	return d.suspendRun(core.KindInterrupt, core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{Action: "continue", Message: phrase.Interrupted(d.h.Parent != nil)}})
}

// whileInterrupted starts nothing: running bodies finish, then the run waits.
func (d *draft) whileInterrupted() (plans.Plan, error) {
	if begun := d.intended(d.round.Calls); len(begun) > 0 {
		// their intent is committed; unless they run now, their outcome is unknown
		return d.runBodies(begun)
	}
	if d.flying() {
		return d.await(), nil
	}
	return d.releaseWaiting()
}

// resumeInterrupted resumes an interrupted run with a message.
func (d *draft) resumeInterrupted(s delivery) error {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == core.CallSuspended && c.Kind == core.KindInterrupt {
			return d.answer(call, s, nil)
		}
	}
	return nil
}
