package core

import (
	"encoding/json"
	"fmt"
)

// An approver may edit the arguments of the call that waits. From then on the edited ones run: they
// are checked, gated, shown and journaled in place of the model's, whose own stay in the
// transcript.

// anyAsk is the wildcard: an approval with edited arguments waives every ask.
const anyAsk = "*"

// Edit makes the call run with the arguments of the decision on a suspension. It waives every ask,
// because the approver who wrote the arguments answers for the whole call.
func (a *Approval) Edit(suspension string) { a.EditedBy, a.WaivedAsk = suspension, anyAsk }

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

// edited returns the arguments of an edit in their canonical form; nil if the decision edits
// nothing.
func (in DecisionInput) edited() (json.RawMessage, error) {
	var members map[string]json.RawMessage
	switch {
	case IsNull(in.Arguments):
		return nil, nil
	case json.Unmarshal(in.Arguments, &members) != nil:
		return nil, &DecisionError{CodeInvalidArguments, "arguments must be an object"}
	}
	canonical, err := ReadArguments(in.Arguments)
	if err != nil {
		return nil, &DecisionError{CodeInvalidArguments, "invalid arguments: " + err.Error()}
	}
	return canonical, nil
}

// checkExtras lets only a decision that approves the call edit its arguments or grant further
// calls.
func (in DecisionInput) checkExtras(kind Kind, action ResumeAction) error {
	switch extra := in.extra(); {
	case extra == "":
		return nil
	case kind != KindApproval:
		return &DecisionError{CodeWrongKind, fmt.Sprintf("%s belong to an approval; this call waits for %s", extra, awaits[kind])}
	case action != ActionResume:
		return &DecisionError{CodeContradiction, fmt.Sprintf("%s belong to an approval, not to a denial; omit them to deny", extra)}
	}
	return nil
}

func (in DecisionInput) extra() string {
	switch {
	case !IsNull(in.Arguments):
		return "edited arguments"
	case in.Grant != "":
		return "grants"
	}
	return ""
}
