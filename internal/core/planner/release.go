package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
)

func (d *draft) endActivation(outcome string) {
	d.h.Activations++
	d.event(core.EventActivationEnded, map[string]any{"activation": d.h.Activations, "outcome": outcome, "step": d.h.Step}, 0)
}

// endStep calls the hooks of a step's end and journals the state, once for each step.
func (d *draft) endStep() error {
	if !d.h.StepOpen {
		return nil
	}
	effects, err := d.fire(core.Firing{Phase: core.StepEnd, Rev: d.v.Head.Rev})
	if err != nil {
		return err
	}
	if d.over == nil {
		d.over = effects.End
	}
	d.owedHooks(core.StepEnd)
	d.h.StepOpen = false
	d.snapshot()
	d.event(core.EventStepEnded, nil, 0)
	return nil
}

// releaseRunning gives the claim up with the next step due, at once or when NotBefore has passed.
func (d *draft) releaseRunning() (plans.Plan, error) {
	if err := d.endStep(); err != nil {
		return nil, err
	}
	if d.over != nil {
		return d.end(*d.over)
	}
	return d.handOver(events.ActivationStepDone)
}

// releasePartial gives the claim up in the middle of a step, so that the next body or model call
// has a whole activation's time. The step stays open; what is done is committed, and the model is
// not asked again for it. A body does not wait for the time of a model's next attempt.
func (d *draft) releasePartial() (plans.Plan, error) {
	if d.h.Outage != nil {
		d.h.NotBefore = 0
	}
	return d.handOver(events.ActivationPartial)
}

func (d *draft) handOver(outcome string) (plans.Plan, error) {
	d.wakeForDeadline()
	d.endActivation(outcome)
	d.h.Lease = 0
	delay := max(0, d.h.NotBefore-d.v.Now)
	return d.write(plans.Commit{Due: d.nextDue(delay), Wake: &delay, Over: true}), nil
}

// nextDue is when the sweep shall look for the next step. The due time that the claim wrote will do
// if it lies behind that step's wake-up: it only matters if the wake-up is lost, and nothing but
// the owner takes it away. So a run that goes from step to step writes the index about once for
// each grain of time, and not twice for each step.
func (d *draft) nextDue(delay int64) *int64 {
	wake := d.v.Now + delay
	if d.v.Head.Due > wake {
		return nil
	}
	due := wake + pause.RetryDue
	return &due
}

// releaseWaiting releases the claim until a signal or a deadline. It is a closing commit: an unread
// signal would wait with the run. It also requires an empty outbox, because a waiting run without a
// deadline is in no index and nothing would send the rest.
func (d *draft) releaseWaiting() (plans.Plan, error) {
	if err := d.endStep(); err != nil {
		return nil, err
	}
	if d.over != nil {
		return d.end(*d.over)
	}
	if len(d.h.Out) > 0 {
		return d.empty()
	}
	if err := d.setStatus(core.RunWaiting); err != nil {
		return nil, err
	}
	d.forgetOutage()
	d.h.Awake, d.h.AwakeSince = d.awake(), 0
	outcome, pending := d.pending()
	looked := !d.h.TurnOpen // at a moment, and the run waits on
	d.endTurn(events.TurnEnded{Status: core.Suspended.String(), Pending: pending})
	d.endActivation(outcome)
	if !looked {
		d.event(core.EventRunStatus, d.runState(core.RunWaiting, nil), 0)
	}
	d.h.Lease = 0
	due := waits.Due(d.h, d.round.Questions)
	return d.write(plans.Commit{AllSeen: true, Due: &due, Wake: pause.Until(due, d.v.Now), Over: true}), nil
}

// pending lists what the run waits for, in call order, and how its activation ended.
func (d *draft) pending() (outcome string, list []events.PendingCall) {
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Status != core.CallSuspended {
			continue
		}
		list = append(list, events.PendingCall{CallID: call.ID, ToolName: call.Name, Kind: c.Kind, Suspension: c.Sus, Deadline: c.Deadline})
	}
	return events.ActivationOfWaits(list), list
}
