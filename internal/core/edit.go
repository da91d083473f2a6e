package core

import "github.com/dormouse-dev/dormouse/internal/core/vote"

// An approver may edit the arguments of the call that waits. From then on the edited ones run: they
// are checked, gated, shown and journaled in place of the model's, whose own stay in the
// transcript.

// anyAsk is the wildcard: an approval with edited arguments waives every ask. The digest of the
// policy that it was given under follows, if there is one.
const anyAsk = "*"

// Edit makes the call run with the arguments of the decision on a suspension, which was asked under
// a policy. It waives every ask that the policy decides about, because the approver who wrote the
// arguments answers for the whole call.
func (a *Approval) Edit(suspension string, under *vote.Policy) {
	a.EditedBy, a.WaivedAsk = suspension, anyAsk+under.Digest()
}

// DigestArguments notes what a decision was about: the call as it would have run without it.
func (d *DecisionRecord) DigestArguments(asked, shown ToolCall) {
	if asked.Name == "" {
		return // the run's own wait has no arguments
	}
	d.ArgumentsDigest = Digest(shown.Arguments)
	if !IsNull(d.Arguments) {
		d.EditedDigest = Digest(d.Arguments)
	}
}
