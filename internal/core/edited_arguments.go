package core

import (
	"encoding/json"
	"fmt"
)

// An approver may edit the arguments of the call that waits. From then on the edited ones run: they
// are checked, gated, shown and journaled in place of the model's, whose own stay in the
// transcript.

// anyAsk is lifted by somebody who wrote the arguments himself.
const anyAsk = "*"

// edit makes the call run with the arguments of the decision on a suspension. Whoever wrote them
// has answered for the call as it is now.
func (a *Approval) edit(suspension string) { a.EditedBy, a.WaivedAsk = suspension, anyAsk }

// effective is the call with the arguments that run: the model's, or those that a decision put in
// their place.
func (d *draft) effective(call ToolCall) ToolCall {
	c := d.h.Calls[call.ID]
	if rec, ok := d.round.Decisions[c.EditedBy]; ok && c.EditedBy != "" && !IsNull(rec.Arguments) {
		call.Arguments = rec.Arguments
	}
	return call
}

// edited says whether a decision put other arguments in place of the model's.
func (d *draft) edited(call ToolCall) bool { return d.h.Calls[call.ID].EditedBy != "" }

// editedArguments are those that run if they were edited; nil if the model's do.
func (d *draft) editedArguments(call ToolCall) json.RawMessage {
	if !d.edited(call) {
		return nil
	}
	return d.effective(call).Arguments
}

// invalidToRun says why an approved call cannot run with its arguments: edited ones are checked
// like a model's, the model's own were when the call was new. Empty if it can.
func (d *draft) invalidToRun(call ToolCall) string {
	if d.edited(call) {
		if err := d.check(d.effective(call)); err != nil {
			return "Not run: the edited arguments are not valid: " + err.Error()
		}
		return ""
	}
	if _, err := ReadArguments(call.Arguments); err != nil {
		return "Not run: the arguments are not valid: " + err.Error()
	}
	return ""
}

// digestArguments notes what a decision was about: the call as it would have run without it.
func (d *DecisionRecord) digestArguments(asked, shown ToolCall) {
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

// checkExtras: only somebody who lets a call run may change its arguments, or allow more than this
// call.
func (in DecisionInput) checkExtras(kind Kind, action ResumeAction) error {
	switch extra := in.extra(); {
	case extra == "":
		return nil
	case kind != KindApproval:
		return &DecisionError{CodeWrongKind, fmt.Sprintf("%s belong to an approval; this call waits for %s", extra, awaits[kind])}
	case action != ActionResume:
		return &DecisionError{CodeContradiction, fmt.Sprintf("%s belong to an approval that lets the call run, not to a no", extra)}
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
