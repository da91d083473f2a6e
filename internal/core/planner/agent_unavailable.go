package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// parked says whether the run has to wait for its agent. A cancel needs no agent, unless the end of
// the run is under way: then its hooks and its memory are owed.
func (d *draft) parked() bool {
	_, cancelled := d.h.Inbox[core.KeyCancel]
	return d.v.ParkFor > 0 && (d.h.End != nil || !cancelled && !d.v.Cancelled)
}

// owedHooks journals that the hooks of a phase were not called because the agent is unavailable.
// Only a cancel ends a run without its agent, and it cannot know whether the agent has hooks.
func (d *draft) owedHooks(p core.Phase) {
	if d.v.ParkFor > 0 {
		d.event(core.EventHookFailed, map[string]any{"detail": p.String() + ": not called: the agent is unavailable"}, 0)
	}
}

// park gives the claim up and leaves everything else as the claim found it: signals stay in the
// inbox, suspended calls stay suspended, an open intent stays open, and a pause that the model
// asked for is neither longer nor shorter. The run stays due, so that it is looked at again until
// its agent is back. The tries are forgotten as after any commit: waiting for an agent is no crash.
//
//	decision ── claim ── no agent: park ── … ── claim ── agent: the decision is drained
func (d *draft) park() Plan {
	delay := d.v.ParkFor
	// the sweep alone wakes it: a wake-up beside it would be a second look
	due := d.v.Now + delay
	if d.h.AwakeSince != 0 { // the time it waits for its agent is not the run's
		d.h.Awake, d.h.AwakeSince = d.awake(), d.v.Now+delay
	}
	d.h.Lease = 0
	return d.write(Commit{Due: &due, Over: true})
}
