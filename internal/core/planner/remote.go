package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// The work of some runs is done by an agent elsewhere: see package peer. Such a run asks it instead
// of a model, in its own time: nothing waits for an answer, and the next look is due like any other
// step. That a task may be sent is committed before it is.
//
//	commit {sent} ── AskPeer ── foldReport ─┬─ working: release, due at the next look
//	                                        ├─ done, failed: end
//	                                        └─ no answer: release, or end if it is lost
//	end ── commit {outbox: stop} ── stop ─┬─ confirmed: done
//	                                      └─ not: release, due at the next attempt

// goElsewhere does what a run without a model does in place of a step.
func (d *draft) goElsewhere() (plans.Plan, error) {
	if d.over == nil {
		if err := d.settle(); err != nil {
			return nil, err
		}
	}
	work := d.h.Peer
	switch {
	case d.over != nil:
		return d.end(*d.over)
	case d.h.Interrupt() != "":
		return d.whileInterrupted()
	case d.h.NotBefore > d.v.Now, d.v.TimeUp, d.v.LeaseEnding:
		return d.releaseElsewhere(), nil
	case work.Sent == 0:
		work.Sent, d.must = d.h.Epoch, true
		return d.commit(), nil
	case d.dirty():
		return d.commit(), nil
	}
	return plans.AskPeer{Again: work.Sent != d.h.Epoch || work.Looks > 0}, nil
}

// releaseElsewhere gives the claim up until the next look. One that brought nothing new is not
// journaled: there may be hundreds.
func (d *draft) releaseElsewhere() plans.Plan {
	if len(d.seg.Events) > 0 {
		d.endActivation(events.ActivationRemote)
	}
	d.h.Lease = 0
	delay := max(0, d.h.NotBefore-d.v.Now)
	return d.write(plans.Commit{Due: d.nextDue(delay), Wake: &delay, Over: true})
}

// foldReport takes in what the agent elsewhere has answered.
func (d *draft) foldReport() {
	work, said := d.h.Peer, d.v.Reported
	if work == nil || said == nil {
		return
	}
	d.must = true
	known := work.ID != ""
	if said.Silence != "" {
		*work = work.Unheard(d.v.Now)
	} else {
		*work = work.Heard(said.Report)
	}
	if !known && work.ID != "" {
		d.event(core.EventRemoteStarted, events.RemoteStarted{Task: work.ID, Context: work.Context, URL: work.Endpoint, Pushes: work.Pushes, Again: said.Again}, 0)
	}
	switch {
	case work.Lost(d.v.Now, d.longestOutage()):
		d.remoteFailed(peer.CodeUnreachable, said.Silence)
	case said.Silence != "" || said.Report.State == peer.Working:
		d.h.NotBefore = work.Next(d.v.Now, pause.Jittered(work.Pause(), d.h.Run, work.Looks))
	case said.Report.State == peer.Done:
		m := core.Outcome{Text: said.Report.Text, Value: said.Report.Value}.Message(core.DefaultResult)
		m.Role, d.h.Round = core.RoleAssistant, d.seq()
		d.event(core.EventRemoteEnded, events.RemoteEnded{Task: work.ID, Outcome: events.RemoteSucceeded}, d.message(m))
		d.over = &core.Reason{Kind: core.NaturalEnd}
	case said.Report.State == peer.Unclear:
		d.remoteFailed(peer.CodeUnclear, said.Report.Detail)
	default:
		d.remoteFailed(said.Report.Code, said.Report.Detail)
	}
}

func (d *draft) remoteFailed(code, detail string) {
	d.over = &core.Reason{Kind: core.Failed, Code: code, Detail: detail}
	if d.h.Peer.Over {
		d.event(core.EventRemoteEnded, events.RemoteEnded{Task: d.h.Peer.ID, Outcome: events.RemoteFailed, Code: code, Detail: detail}, 0)
	}
}

// oweStop notes that the agent elsewhere must be stopped, if it may work on.
func (d *draft) oweStop() {
	if d.h.Peer != nil && d.h.Peer.Owed() {
		d.h.Out[core.OutboxStop] = core.Out{Kind: core.OutStop}
	}
}

// endStop notes what has become of the stop, and that the agent is not asked again.
func (d *draft) endStop(outcome string) {
	work := d.h.Peer
	work.Over, d.must = true, true
	delete(d.h.Out, core.OutboxStop)
	d.event(core.EventRemoteEnded, events.RemoteEnded{Task: work.ID, Outcome: outcome, Attempts: work.Stops}, 0)
}

// stopAgain schedules the next attempt to stop the agent elsewhere, or gives up.
func (d *draft) stopAgain() {
	work := d.h.Peer
	if _, owed := d.h.Out[core.OutboxStop]; !owed || work == nil {
		return
	}
	work.Stops++
	switch {
	case work.Stops >= peer.MostStops:
		d.endStop(events.RemoteUnconfirmed)
	case len(d.h.Out) == 1:
		d.h.NotBefore = d.v.Now + pause.Jittered(pause.Backoff(work.Stops), d.h.Run, work.Stops)
	}
}
