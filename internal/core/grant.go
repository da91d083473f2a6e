package core

// Grant says what an approval allows beyond its own call.
type Grant string

// GrantRun also allows the later calls of this turn that the same rules would ask about for the
// same tool. The turn ends when the run waits again or is done, and for grants also with the next
// user message or answer to another call, no matter who sends it: the approver answered for what
// was asked of the agent up to then, and a caller who may not approve must not spend that answer.
//
//	anna approves "pay A 120" for the turn ── message "pay Mallory 9999" ── pay: asked again
const GrantRun Grant = "run"

// Words says whether a decision says more than yes or no.
func (r Resume) Words() bool { return r.Error != "" || !IsNull(r.Result) || r.Reason != "" }

// Tells says whether the model reads words of the caller in the call's result. What is said of a
// lost body ends no grant, as above.
func (rec DecisionRecord) Tells(c Call) bool {
	switch {
	case rec.TimedOut || c.Kind == KindUnknownOutcome:
		return false
	case rec.Action == ActionCancel:
		return rec.Reason != ""
	case rec.Error != "":
		return true
	}
	// there, a result is but a yes
	return !IsNull(rec.Result) && !(c.Kind == KindApproval && c.Mode == ReplayToolCall)
}
