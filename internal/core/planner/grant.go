package planner

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

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

// endGrantsOfTurn ends the grants of a turn that ends because the run waits for an answer. It
// ignores questions about an unknown outcome: the agent didn't ask them, and a crash must not
// change what an approver allowed.
func (d *draft) endGrantsOfTurn() {
	for _, c := range d.h.Calls {
		if c.Status == core.CallSuspended && c.Kind != core.KindUnknownOutcome {
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
	if d.round.TellsMore(d.h) {
		d.endGrants()
	}
}

func (d *draft) granted(what string) bool { return what != "" && slices.Contains(d.h.Grants, what) }
