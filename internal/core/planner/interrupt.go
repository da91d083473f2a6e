package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// An interrupt asks the run to pause. It is journaled, suspends a synthetic call of the run, and
// from then on nothing begins. A resume, or a message, is the decision on that call.
//
//	applyInterrupt ── interrupt ── whileInterrupted … releaseWaiting
//	resumeInterrupted | a decision ── settleRunWait

// applyInterrupt interrupts the run, unless it is interrupted already.
func (d *draft) applyInterrupt(s delivery) error {
	if d.interrupted() {
		d.recordInterrupt(s, false)
		return nil
	}
	d.recordInterrupt(s, true)
	return d.interrupt()
}

// recordInterrupt journals who asked for it, and whether it had an effect.
func (d *draft) recordInterrupt(s delivery, applied bool) {
	d.event(core.EventInterruptRecorded, events.Asked{ID: s.ID, By: s.By, Via: s.Via, Applied: applied}, 0)
}

// interrupt suspends the run until it is resumed. Work that has begun finishes first.
func (d *draft) interrupt() error {
	return d.suspendRun(core.KindInterrupt, core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{Action: "continue",
		Message: "The run was interrupted. Resume it to continue; a message resumes it too, unless a call waits for a decision."}})
}

// interrupted reports whether the run waits because of an interrupt.
func (d *draft) interrupted() bool {
	for _, c := range d.h.Calls {
		if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
			return true
		}
	}
	return false
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
