package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// runBodies commits what permits the bodies, calls the hooks before them, then asks for the bodies.
func (d *draft) runBodies(batch []core.ToolCall) (plans.Plan, error) {
	switch {
	case d.v.LeaseEnding:
		batch = nil // an intent that is committed already becomes a question to a person
	case d.v.TimeUp:
		batch = d.intended(batch)
	}
	switch {
	case len(batch) == 0 && d.flying():
		return d.await(), nil
	case len(batch) == 0:
		return d.releasePartial()
	}
	if refused, err := d.intend(batch); refused || err != nil {
		return d.again(err)
	}
	if d.must {
		return d.commit(), nil
	}
	state, refused, err := d.prepare(batch)
	if refused || err != nil {
		return d.again(err)
	}
	bodies := make(plans.RunBodies, len(batch))
	for i, call := range batch {
		bodies[i] = d.body(call, state)
	}
	return bodies, nil
}

// prepare calls the hooks before bodies that need no intent, and returns the state that the bodies
// see. The hooks' effects are committed with the outcome, never earlier.
func (d *draft) prepare(batch []core.ToolCall) (s core.State, refused bool, err error) {
	s = d.state
	for _, call := range batch {
		if c := d.h.Calls[call.ID]; c.IntendedBy(d.h.Epoch) || c.HooksEpoch != 0 {
			continue // a commit contains what its hooks wanted
		}
		i, runs, err := d.before(call, s)
		switch {
		case err != nil:
			return s, false, err
		case !runs:
			refused = true
			s = d.state
		case i >= 0 && d.checkState(d.v.Fired[i].State) == nil:
			s = s.Apply(d.v.Fired[i].State)
		}
	}
	return s, refused, nil
}

// readyFor calls the hooks before a body whose intent is about to be committed, and folds in their
// effects.
func (d *draft) readyFor(call core.ToolCall) (runs bool, err error) {
	if d.h.Calls[call.ID].HooksEpoch != 0 {
		return true, nil
	}
	i, runs, err := d.before(call, d.state)
	if err == nil && runs && i >= 0 {
		err = d.take(i)
	}
	return runs, err
}

// before calls the hooks before a body, on the state that it will see; one that refuses fails the
// call. i is where their answer is, -1 if there is none.
func (d *draft) before(call core.ToolCall, s core.State) (i int, runs bool, err error) {
	ran := d.effective(call)
	i, err = d.answered(core.Firing{Phase: core.BeforeToolExecute, Call: &ran, State: s})
	if err != nil || i < 0 {
		return i, true, err
	}
	switch e := d.v.Fired[i].Effects; {
	case e.Conflict != "":
		return i, false, d.take(i)
	case e.Refuse == "":
		return i, true, nil
	}
	if err := d.readyUpTo(i); err != nil {
		return i, false, err
	}
	return i, false, d.refuse(call, core.CallOutcomeDeniedByRule, d.v.Fired[i].Refuse)
}

// readyUpTo folds in the effects up to a refusal, because the refusing hook saw what earlier hooks
// wrote. Calls that were let through are marked ready: this commit contains their hooks' effects,
// so neither this owner nor a later one calls those hooks again. An earlier answer may be a
// refusal, too, if the commit with it was refused because of a signal: it waits for its own call.
//
//	owner 1   c1: let through ── c2: refused ── commit {effects of both, c1 ready} ── crash
//	owner 2   c1: ready, so its body runs without the hooks
func (d *draft) readyUpTo(refusal int) error {
	for i := range refusal + 1 {
		done := d.v.Fired[i]
		if done.Phase != core.BeforeToolExecute || d.took[i] || i < refusal && (done.Refuse != "" || done.Conflict != "") {
			continue
		}
		if err := d.take(i); err != nil {
			return err
		}
		if c := d.h.Calls[done.Call]; i < refusal && !c.Status.Terminal() {
			d.change(done.Call, func(c *core.Call) { c.HooksEpoch = d.h.Epoch })
		}
	}
	return nil
}

func (d *draft) body(call core.ToolCall, s core.State) plans.BodyRun {
	c := d.h.Calls[call.ID]
	run := plans.BodyRun{Call: d.effective(call), Attempt: c.Number, AtMostOnce: d.atMostOnce(call), State: s, Scratch: d.round.Scratch[call.ID]}
	run.MayHaveBegun = !run.AtMostOnce && (c.MayHaveBegun || d.v.Orphaned)
	if rec, ok := d.round.Decisions[c.PassedDecision]; ok {
		run.Resume = &rec.Resume
	}
	return run
}
