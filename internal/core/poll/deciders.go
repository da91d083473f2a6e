package poll

import "github.com/dormouse-dev/dormouse/internal/core"

// NameDeciders says in a ticket who may decide on its suspension; terms are the definition's. Where
// the decision itself becomes the result, and where a person reports what became of a call, one of
// the people decides: nothing runs for the first time.
func NameDeciders(t *core.SuspendTicket, kind core.Kind, terms core.Terms) {
	if kind != core.KindApproval && kind != core.KindUnknownOutcome {
		t.Policy = nil
		return
	}
	if t.Policy == nil {
		t.Policy = terms.Policy
	}
	switch {
	case t.Policy == nil:
		t.Approvers = terms.Approvers
	case t.Counted() && (kind == core.KindUnknownOutcome || t.ResumeMode == core.UseDecisionAsToolResult):
		t.Approvers = nil // of the question before, if this one follows another
		for _, stage := range t.Policy.Stages {
			t.Approvers = append(t.Approvers, stage.Group.Entries()...)
		}
		t.Policy, t.Stage = nil, 0
	default:
		t.Approvers = t.Asked().Group.Entries()
	}
}
