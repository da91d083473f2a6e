package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// longestDetail bounds the sentence of an outage: it is in every head that is written while the
// outage lasts.
const longestDetail = 300

// foldFailure handles a model call that brought no turn, or one that is not accepted. settled says
// that the plan is made.
func (d *draft) foldFailure() (plan plans.Plan, settled bool, err error) {
	switch f := d.v.Failure; {
	case d.v.Yielded:
		plan, err = d.releasePartial()
	case f == nil:
		return nil, false, nil
	case !f.Retryable:
		d.h.ModelTries++
		plan, err = d.end(f.Reason)
	default:
		reason := d.waitForModel(*f)
		if reason == nil {
			// what came meanwhile is acted on; the model is not asked before NotBefore
			return nil, false, nil
		}
		plan, err = d.end(*reason)
	}
	return plan, true, err
}

// waitForModel schedules the next model call with backoff, or returns the reason to end the run. A
// provider that doesn't answer is retried until the outage limit; answers that are no valid turn
// are counted, because each one costs money.
//
//	failure ── 2 s ── failure ── 4 s ── … ── 15 min ── failure ── … ── Since + the limit: end
func (d *draft) waitForModel(f plans.ModelFailure) *core.Reason {
	out := d.noteFailure(f)
	until := out.Since + d.longestOutage()
	switch {
	case out.Unfit >= d.v.Limits.ModelTries:
		return &f.Reason
	case d.v.Now >= until:
		return &core.Reason{Kind: core.Failed, Code: f.Reason.Code,
			Detail: "the model did not answer within the agent's limit (model.outage); last failure: " + f.Reason.Detail}
	}
	wait := pause.Asked(pause.Jittered(pause.Backoff(d.h.ModelTries), d.h.Run, d.h.ModelTries), f.After, d.h.Run, d.h.ModelTries)
	d.h.NotBefore = min(d.v.Now+wait, until)
	d.event(core.EventStepReset, map[string]any{"reason": "model_unavailable", "code": out.Code, "text": f.Reason.Detail, "try": d.h.ModelTries,
		"try_at": d.h.NotBefore}, 0)
	return nil
}

// noteFailure notes a failure. From the first one in a row on the run is not awake: no stop rule
// counts the time that an outage takes.
func (d *draft) noteFailure(f plans.ModelFailure) core.Outage {
	out := core.Outage{Since: d.v.Now}
	if d.h.Outage != nil {
		out = *d.h.Outage
	}
	if f.Answered {
		out.Unfit++
	}
	out.Code, out.Detail = core.Clip(f.Reason.Code, 100), core.Clip(f.Reason.Detail, longestDetail)
	d.h.ModelTries++
	d.h.Awake, d.h.AwakeSince = d.awake(), 0
	d.h.Outage = &out
	return out
}

// longestOutage is how many ms the definition, or else the engine, lets a run wait for its model.
func (d *draft) longestOutage() int64 {
	if own := d.v.Rules.Terms().Outage; own > 0 {
		return own
	}
	return d.v.Limits.Outage
}

// modelAnswered forgets the failures before an answer.
func (d *draft) modelAnswered() {
	if d.h.Outage != nil && d.h.TurnOpen {
		d.h.AwakeSince = d.v.Now
	}
	d.h.Outage = nil
	d.h.ModelTries, d.h.NotBefore = 0, 0
}

// forgetOutage lets a run that waits for a person try at once when it goes on: its wait does not
// count as an outage.
func (d *draft) forgetOutage() {
	if d.h.Outage != nil {
		d.h.Outage = nil
		d.h.ModelTries, d.h.NotBefore = 0, 0
	}
}
