package answer

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// edited returns the arguments of an edit in their canonical form; nil if the decision edits
// nothing.
func (in Input) edited() (json.RawMessage, error) {
	var members map[string]json.RawMessage
	switch {
	case core.IsNull(in.Arguments):
		return nil, nil
	case json.Unmarshal(in.Arguments, &members) != nil:
		return nil, &Error{CodeInvalidArguments, "arguments must be an object"}
	}
	canonical, err := strict.Arguments(in.Arguments)
	if err != nil {
		return nil, &Error{CodeInvalidArguments, "invalid arguments: " + err.Error()}
	}
	return canonical, nil
}

// checkExtras lets only a decision that approves the call edit its arguments or grant further
// calls.
func (in Input) checkExtras(q Question, action core.ResumeAction) error {
	kind := q.Kind
	switch extra := in.extra(); {
	case extra == "":
		return nil
	case kind != core.KindApproval:
		return &Error{CodeWrongKind, fmt.Sprintf("%s belong to an approval; this call waits for %s", extra, awaits[kind])}
	case q.GoOn:
		return &Error{CodeWrongKind, fmt.Sprintf("%s belong to the call of a tool; this run asks whether it may go on, so send action resume or cancel alone", extra)}
	case action != core.ActionResume:
		return &Error{CodeContradiction, fmt.Sprintf("%s belong to an approval, not to a denial; omit them to deny", extra)}
	}
	return nil
}

func (in Input) extra() string {
	switch {
	case !core.IsNull(in.Arguments):
		return "edited arguments"
	case in.Grant != "":
		return "grants"
	}
	return ""
}
