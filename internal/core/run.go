package core

// batch are the calls whose bodies run now: all that are cleared, or, in a sequential round, the first of them, one with a decision
// before one without.
//
//	[running with my intent] > [running again, resuming] > [new]
func (d *draft) batch() []ToolCall {
	if d.v.Rules.Terms().Parallel {
		return d.clearedWith(CallRunning, CallResuming, CallNew)
	}
	for _, status := range []CallStatus{CallRunning, CallResuming, CallNew} {
		if found := d.clearedWith(status); len(found) > 0 {
			return found[:1]
		}
	}
	return nil
}

func (d *draft) clearedWith(statuses ...CallStatus) (calls []ToolCall) {
	for _, call := range d.round.Calls {
		for _, s := range statuses {
			if d.cleared[call.ID] && d.h.Calls[call.ID].Status == s {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// run makes what allows the bodies durable, calls the hooks before them, then asks for them.
func (d *draft) run(batch []ToolCall) (Plan, error) {
	switch {
	case d.v.Late:
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
	bodies := make(RunBodies, len(batch))
	for i, call := range batch {
		bodies[i] = d.body(call, state)
	}
	return bodies, nil
}

// prepare calls the hooks before the bodies that need no intent, and returns the state that the bodies see. What the hooks want is
// folded in with the outcome: a commit before that contains none of it.
func (d *draft) prepare(batch []ToolCall) (s State, refused bool, err error) {
	s = d.state
	for _, call := range batch {
		if c := d.h.Calls[call.ID]; c.Intent == d.h.Epoch || c.Ready != 0 {
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

// again goes on after a hook refused a call: others may have waited for it.
func (d *draft) again(err error) (Plan, error) {
	if err != nil {
		return nil, err
	}
	return d.goOn()
}

// intended are the calls of the batch whose intent this owner has committed and whose body it has not begun.
func (d *draft) intended(batch []ToolCall) (calls []ToolCall) {
	for _, call := range batch {
		if d.h.Calls[call.ID].Intent == d.h.Epoch && !d.inFlight(call) {
			calls = append(calls, call)
		}
	}
	return calls
}

// intend notes the intent of each at-most-once body that has none of this owner, after its hooks were called.
func (d *draft) intend(batch []ToolCall) (refused bool, err error) {
	for _, call := range batch {
		if !d.atMostOnce(call) || d.h.Calls[call.ID].Intent == d.h.Epoch {
			continue
		}
		runs, err := d.readyFor(call)
		if err != nil {
			return false, err
		}
		if !runs {
			refused = true
			continue
		}
		if err := d.begin(call); err != nil {
			return false, err
		}
		d.change(call.ID, func(c *Call) { c.Intent = d.h.Epoch })
		d.must = true
	}
	return refused, nil
}

// readyFor calls the hooks before a body whose intent is about to be committed, and folds in what they want.
func (d *draft) readyFor(call ToolCall) (runs bool, err error) {
	if d.h.Calls[call.ID].Ready != 0 {
		return true, nil
	}
	i, runs, err := d.before(call, d.state)
	if err == nil && runs && i >= 0 {
		err = d.take(i)
	}
	return runs, err
}

// before calls the hooks before a body, on the state that it will see; one that refuses fails the call. i is where their answer is, -1 if
// there is none.
func (d *draft) before(call ToolCall, s State) (i int, runs bool, err error) {
	ran := d.effective(call)
	i, err = d.answered(Firing{Phase: BeforeToolExecute, Call: &ran, State: s})
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
	return i, false, d.refuse(call, CallOutcomeDeniedByRule, d.v.Fired[i].Refuse)
}

// readyUpTo takes the answers up to a refusal: the hooks that refused have seen what those before them
// wrote. The calls that were let through are ready, and their hooks are not called again, also not by a
// later owner: this commit contains what they wanted, and it must not count twice.
//
//	owner 1   c1: let through ── c2: refused ── commit {effects of both, c1 ready} ── crash
//	owner 2   c1: ready, so its body runs without the hooks
func (d *draft) readyUpTo(refusal int) error {
	for i := range refusal + 1 {
		done := d.v.Fired[i]
		if done.Phase != BeforeToolExecute || d.took[i] {
			continue
		}
		if err := d.take(i); err != nil {
			return err
		}
		if c := d.h.Calls[done.Call]; i < refusal && !c.Status.Terminal() {
			d.change(done.Call, func(c *Call) { c.Ready = d.h.Epoch })
		}
	}
	return nil
}

func (d *draft) body(call ToolCall, s State) BodyRun {
	c := d.h.Calls[call.ID]
	run := BodyRun{Call: d.effective(call), Attempt: c.Attempt, AtMostOnce: d.atMostOnce(call), State: s, Scratch: d.round.Scratch[call.ID]}
	run.Again = !run.AtMostOnce && (c.Again || d.v.Orphaned)
	if rec, ok := d.round.Decisions[c.Passed]; ok {
		run.Resume = &rec.Resume
	}
	return run
}

// effective is the call with the arguments that run: the model's, or those that a decision put in their place.
func (d *draft) effective(call ToolCall) ToolCall {
	c := d.h.Calls[call.ID]
	if rec, ok := d.round.Decisions[c.Edited]; ok && c.Edited != "" && !IsNull(rec.Arguments) {
		call.Arguments = rec.Arguments
	}
	return call
}
