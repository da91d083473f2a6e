package core

// A crash without an intent: the body runs again, under the same idempotency key, and is told that
// it may have begun before. A call whose body seems to kill the process each time is taken out of
// the way.

// Orphaned says, of a head that was just claimed, that the previous owner crashed: work that it had
// planned may have begun.
func (o Ownership) Orphaned() bool { return o.ClaimKept || o.Tries > 1 }

// rememberOrphans marks the calls whose bodies a lost owner may have begun, before a commit makes
// the run this owner's: their bodies may be run by another one still.
//
//	owner 1: body ──✗ lost     owner 2: interrupt ── commit, waits     owner 3: body, and is told
func (d *draft) rememberOrphans() {
	if !d.v.Orphaned {
		return
	}
	for id, before := range d.v.Head.Calls {
		if now, there := d.h.Calls[id]; there && before.runnable() && now.runnable() {
			d.change(id, func(c *Call) { c.MayHaveBegun = true })
		}
	}
}

// runnable says whether the next thing that happens to the call may be its body.
func (c Call) runnable() bool {
	return c.Status == CallNew || c.Status == CallRunning || c.Status == CallResuming
}

// settleCrashing takes the call that seems to kill the process out of the way: it fails, or a
// person is asked.
func (d *draft) settleCrashing() (took bool, err error) {
	if d.v.Limits.BodyTries == 0 || d.h.Tries < d.v.Limits.BodyTries {
		return false, nil
	}
	batch := d.batch()
	if len(batch) == 0 {
		return false, nil
	}
	call := batch[0]
	d.h.Tries = 0
	d.must = true
	if d.atMostOnce(call) {
		if err := d.begin(call); err != nil {
			return false, err
		}
		return true, d.askWhatHappened(call)
	}
	return true, d.refuse(call, CallOutcomeLost, "The outcome of this call is unknown: its process was lost again and again, before or while it ran.")
}

// mayHaveRun says whether the body of a call that is closed without an outcome may have taken
// effect: it was begun, or a crashed owner may have begun it. c is the call as it was before.
func (d *draft) mayHaveRun(call ToolCall, c Call) bool {
	begun := c.Status == CallRunning || c.Status == CallSuspended && c.Kind == KindUnknownOutcome
	return begun || d.closing && d.mayHaveBegun(call)
}

// mayHaveBegun says whether a crashed owner may have begun a body that needs no intent: its gate
// was open.
func (d *draft) mayHaveBegun(call ToolCall) bool {
	c, committed := d.v.Head.Calls[call.ID]
	spec, ok := d.v.Rules.Tool(call.Name)
	if !committed || !ok || spec.Client || spec.Finish || c.HeldBehind != "" || d.atMostOnce(call) {
		return false
	}
	if lost := c.MayHaveBegun || c.HooksEpoch != 0 && c.HooksEpoch != d.h.Epoch || d.v.Orphaned; !lost {
		return false
	}
	rec := d.round.Decisions[c.Sus]
	runs := c.Status == CallNew ||
		c.Status == CallResuming && rec.Action == ActionResume && rec.Error == "" && !rec.TimedOut && c.Mode != UseDecisionAsToolResult
	v, _ := d.verdict(call)
	return runs && v.Effect == Allow
}
