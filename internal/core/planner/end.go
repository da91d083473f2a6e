package planner

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// For every reason, the end of a run stops bodies in flight, closes open calls with a result,
// journals signals, calls the hooks for the end of a run and empties the outbox.
//
//	end ── seal ── commit ── afterEnd: closeRun, empty ── releaseDone

// end closes the run: every open call gets a result, every signal is journaled. It is one write
// with the release, unless hooks must be called, the outbox isn't empty, or another run follows.
func (d *draft) end(r core.Reason) (plans.Plan, error) {
	if d.flying() {
		return plans.StopBodies{Reason: r}, nil
	}
	if err := d.journalInbox(); err != nil {
		return nil, err
	}
	d.closing = true
	for _, call := range d.round.Calls {
		if err := d.cancelOpen(call, r); err != nil {
			return nil, err
		}
	}
	d.openTurn(causeOfEnd(r))
	if err := d.endStep(); err != nil {
		return nil, err
	}
	d.snapshot()
	d.seal(r)
	d.owedHooks(core.RunEnd)
	d.h.EndHooksDone = !d.hooked(core.RunEnd)
	if len(d.h.Out) > 0 || !d.h.EndHooksDone {
		return d.write(plans.Commit{AllSeen: true}), nil
	}
	return d.releaseDone()
}

// endInConflict ends a run whose outcomes wrote contradictory state. Their effects since the last
// commit are discarded, except that the calls were started. A cancel accepted in the meantime is
// still the reason of the end.
func (d *draft) endInConflict(c core.Conflict) (plans.Plan, error) {
	d.foldOutbox()
	if d.v.Turn == nil {
		for _, o := range d.v.Outcomes {
			if call, ok := d.call(o.CallID); ok {
				if err := d.begin(call); err != nil {
					return nil, err
				}
			}
		}
	}
	d.over = &core.Reason{Kind: core.Failed, Code: "state_conflict", Detail: c.Error()}
	return d.end(*d.mustEnd())
}

// cancelOpen closes a call that is open when the run ends.
func (d *draft) cancelOpen(call core.ToolCall, r core.Reason) error {
	c, tracked := d.h.Calls[call.ID]
	if !tracked || c.Status.Terminal() {
		return nil
	}
	text := phrase.EndedFirst(r, d.mayHaveRun(call, c))
	return d.settleCall(call, core.CallCancelled, overtakenBy(r), core.TextResult(text))
}

// seal records the reason of the end. After it, only sending remains.
func (d *draft) seal(r core.Reason) {
	for key, out := range d.h.Out {
		if out.Kind == core.OutNotify { // no call needs a person any more
			delete(d.h.Out, key)
		}
	}
	if r.Kind == core.Blocked {
		r.Code = cmp.Or(r.Code, core.CodeBlockedByRule)
	}
	// models' and callers' words; the head is small
	r.Code, r.Detail = core.Clip(r.Code, 100), core.Clip(r.Detail, 500)
	d.h.End = &r
	if d.v.Notices.Ends() {
		d.event(core.EventRunEnded, r, 0)
	}
	d.h.NotBefore, d.h.Outage = 0, nil
	d.h.TimedOut = map[string]int{}
	d.tellParent()
	d.oweStop()
	d.h.Awake, d.h.AwakeSince = d.awake(), 0
	if r.Kind == core.NaturalEnd && d.h.Response == "" {
		d.h.Response = core.ResponseDone
	}
	byItself := r.Kind == core.NaturalEnd || r.Kind == core.BehaviorRequested || r.Kind == core.Stopped
	if d.v.Rules.Terms().Memory && !d.h.NoMemory && byItself {
		d.h.Out[outMemory] = core.Out{Kind: core.OutMemory}
	}
}

// closeRun calls the hooks of the run's end, after the end is committed and nothing can prevent it.
// Hooks that appear to crash the worker are skipped.
func (d *draft) closeRun() error {
	if d.h.EndHooksDone {
		return nil
	}
	if d.h.Tries >= d.v.Limits.BodyTries {
		d.event(core.EventHookFailed, map[string]any{"detail": "the hooks of the run's end were skipped: the worker crashed each time"}, 0)
	} else if _, err := d.fire(core.Firing{Phase: core.RunEnd, Reason: d.h.End}); err != nil {
		return err
	}
	d.snapshot()
	d.h.EndHooksDone, d.must = true, true
	return nil
}

// afterEnd finishes an end that could not be one write.
func (d *draft) afterEnd() (plans.Plan, error) {
	if err := d.closeRun(); err != nil {
		return nil, err
	}
	d.giveUpMemory()
	switch {
	case len(d.h.Out) > 0:
		return d.empty()
	case len(d.h.Held) > 0 && !d.h.TurnOpen:
		return plans.StartHeld{Held: d.h.Held[0]}, nil
	}
	return d.releaseDone()
}

// releaseDone marks the run as done and releases the claim. If a held message waits, the owner
// keeps the claim until the next run has replaced this one in the head.
func (d *draft) releaseDone() (plans.Plan, error) {
	r := *d.h.End
	follows := len(d.h.Held) > 0
	if !follows {
		if err := d.setStatus(core.RunDone); err != nil {
			return nil, err
		}
	}
	d.openTurn(causeOfEnd(r))
	d.endTurn(events.TurnEnded{Status: core.RunDone.String(), Reason: r.Kind.String(), Code: r.Code, Detail: r.Detail, By: r.By, Via: r.Via, ResponseState: d.h.Response})
	d.endActivation(events.ActivationDone)
	d.event(core.EventRunStatus, d.runState(core.RunDone, &r), 0)
	if follows {
		d.must = true
		return d.write(plans.Commit{AllSeen: true}), nil
	}
	d.h.Lease = 0
	due := int64(0)
	return d.write(plans.Commit{AllSeen: true, Due: &due, Over: true}), nil
}

// overtakenBy is the outcome of a call that was open when the run ended.
func overtakenBy(r core.Reason) core.CallOutcome {
	if r.Kind == core.Cancelled {
		return core.CallOutcomeRunCancelled
	}
	return core.CallOutcomeRunEnded
}
