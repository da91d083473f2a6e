package core

import "slices"

// A decision that comes while bodies run need not wait for them. What it takes is one commit, before the body that it approves begins:
//
//	A runs ─────────────────────────────────────── ends
//	       decision on B ── {decision, intent of B, outcomes that came} ── B runs
//
// The bodies in flight are in the view, and everything that settles calls leaves theirs alone. The claim is not given up while one runs.

// flying says whether some body is in flight.
func (d *draft) flying() bool { return len(d.v.InFlight) > 0 }

// inFlight says whether the body of a call is.
func (d *draft) inFlight(call ToolCall) bool {
	return slices.ContainsFunc(d.v.InFlight, func(f InFlight) bool { return f.CallID == call.ID })
}

// await commits what must be durable, then waits.
func (d *draft) await() Plan {
	if d.must {
		return d.commit()
	}
	return Plan{Await: true}
}

// contradiction is the conflict between what bodies wrote that did not see one another.
func (v View) contradiction() error {
	for i, o := range v.Outcomes {
		for _, other := range slices.Concat(v.Unseen, v.Outcomes[:i]) {
			if len(o.State) == 0 || len(other.State) == 0 || !o.overlaps(other) {
				continue
			}
			if _, err := Merge(other.State, o.State); err != nil {
				return err
			}
		}
	}
	return nil
}

// unseen are the outcomes, committed or about to be, that some body in flight has not seen.
func (v View) unseen() []BodyOutcome {
	var unseen []BodyOutcome
	for _, o := range slices.Concat(v.Unseen, v.Outcomes) {
		if slices.ContainsFunc(v.InFlight, func(f InFlight) bool { return o.Nth > f.Saw }) {
			unseen = append(unseen, o)
		}
	}
	return unseen
}

// Decided says whether a decision is in the inbox.
func (h Head) Decided() bool {
	for _, s := range h.Inbox {
		if s.Kind == SignalDecision {
			return true
		}
	}
	return false
}
