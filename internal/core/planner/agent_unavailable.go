package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// parked reports whether the run must wait for its agent. A cancel needs none, and neither does
// what a run owes others once it has ended, unless its hooks or its memory are still due.
func (d *draft) parked() bool {
	_, cancelled := d.h.Inbox[core.KeyCancel]
	if _, remembers := d.h.Out[outMemory]; d.h.End != nil {
		return d.v.ParkFor > 0 && (remembers || !d.h.EndHooksDone)
	}
	return d.v.ParkFor > 0 && !cancelled && !d.v.Cancelled
}

// owedHooks journals that the hooks of a phase were not called because the agent is unavailable.
// Only a cancel ends a run without its agent, and it cannot know whether the agent has hooks.
func (d *draft) owedHooks(p core.Phase) {
	if d.v.ParkFor > 0 {
		d.event(core.EventHookFailed, map[string]any{"detail": p.String() + ": not called: the agent is unavailable"}, 0)
	}
}

// park releases the claim and leaves everything else unchanged: signals stay in the inbox,
// suspended calls stay suspended, an open intent stays open, and a backoff keeps its time. The run
// stays due, so the sweep finds it again until its agent is back. It resets the tries, because they
// count crashes, and waiting for an agent is not one.
//
//	decision ── claim ── no agent: park ── … ── claim ── agent: the decision is applied
func (d *draft) park() plans.Plan {
	delay := d.v.ParkFor
	// the sweep alone wakes it: a wake-up beside it would be a second look
	due := d.v.Now + delay
	if d.h.AwakeSince != 0 { // the time it waits for its agent is not the run's
		d.h.Awake, d.h.AwakeSince = d.awake(), d.v.Now+delay
	}
	d.h.Lease = 0
	return d.write(plans.Commit{Due: &due, Over: true})
}
