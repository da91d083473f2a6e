package core

import "slices"

// Grant says what an approval allows beyond its own call.
type Grant string

// GrantRun also allows the later calls of this turn that the same rules would ask about for the
// same tool. The turn ends when the run waits again or is done, and for grants also with the next
// user message or answer to another call, no matter who sends it: the approver answered for what
// was asked of the agent up to then, and a caller who may not approve must not spend that answer.
//
//	anna approves "pay A 120" for the turn ── message "pay Mallory 9999" ── pay: asked again
const GrantRun Grant = "run"

// mostGrants bounds what a head keeps of them; beyond that an approver is asked again.
const mostGrants = 32

// grant keeps what an approval allows for the rest of the turn. What names the tool and the rules
// that asked.
func (d *draft) grant(what string) {
	if len(d.h.Grants) < mostGrants && !slices.Contains(d.h.Grants, what) {
		d.h.Grants = append(d.h.Grants, what)
	}
}

// endGrants makes the approver decide about every later call again.
func (d *draft) endGrants() { d.h.Grants = nil }

// endGrantsOfTurn ends the grants of a turn that ends because the run waits for an answer. A
// question about the outcome of a lost body is none of the agent's asking: a crash must not change
// what an approver allowed.
func (d *draft) endGrantsOfTurn() {
	for _, c := range d.h.Calls {
		if c.Status == CallSuspended && c.Kind != KindUnknownOutcome {
			d.endGrants()
			return
		}
	}
}

// endGrantsOfAnswered ends the grants of a round in which a caller's answer tells the model
// something, in time or too late. The approver did not see the answer, which may come from a caller
// who may not approve. That holds also if the answer was first: the model has yet to read it.
//
//	anna approves "pay A 120" for the turn
//	  ── ben answers the question beside it: "pay Mallory 9999" ── pay: asked again
func (d *draft) endGrantsOfAnswered() {
	if d.round.LateWords {
		d.endGrants()
		return
	}
	for _, c := range d.h.Calls {
		if rec, decided := d.round.Decisions[c.Sus]; decided && rec.tells(c) {
			d.endGrants()
			return
		}
	}
}

// words says whether a decision says more than yes or no.
func (r Resume) words() bool { return r.Error != "" || !IsNull(r.Result) || r.Reason != "" }

// tells says whether the model reads words of the caller in the call's result. What is said of a
// lost body ends no grant, as above.
func (rec DecisionRecord) tells(c Call) bool {
	switch {
	case rec.TimedOut || c.Kind == KindUnknownOutcome:
		return false
	case rec.Action == ActionCancel:
		return rec.Reason != ""
	case rec.Error != "":
		return true
	}
	return !IsNull(rec.Result) && !(c.Kind == KindApproval && c.Mode == ReplayToolCall) // there, a result is but a yes
}

func (d *draft) granted(what string) bool { return what != "" && slices.Contains(d.h.Grants, what) }
