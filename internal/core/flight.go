package core

import "slices"

// A decision that arrives while bodies run is applied beside them. One commit makes it durable before the approved body begins:
//
//	A runs ─────────────────────────────────────── ends
//	       decision on B ── {decision, intent of B, outcomes that came} ── B runs
//
// The view lists the bodies in flight. Code that settles calls skips the calls of these bodies, and the owner keeps its claim as long as one runs.

// flying says whether any body is in flight.
func (d *draft) flying() bool { return len(d.v.InFlight) > 0 }

// inFlight says whether the body of the call is in flight.
func (d *draft) inFlight(call ToolCall) bool {
	return slices.ContainsFunc(d.v.InFlight, func(f InFlight) bool { return f.CallID == call.ID })
}

// await commits what must be durable, then asks to wait.
func (d *draft) await() Plan {
	if d.must {
		return d.commit()
	}
	return AwaitBodies{}
}

// contradiction is the conflict between the writes of bodies that overlapped; nil if there is none.
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
func (v View) unseen() (unseen []BodyOutcome) {
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
