// Package answer reads how a caller answers a suspended call. Callers write decisions loosely, so
// reading fails closed: only a clear yes lets a call run, and everything else denies it or is
// refused with a stable code.
package answer

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Codes of an [Error]. They are a contract with callers.
const (
	CodeBadAction       = "bad_action"       // an action other than resume and cancel
	CodeBadGrant        = "bad_grant"        // a grant other than run
	CodeUnclearDecision = "unclear_decision" // neither a yes, nor a no, nor a result
	// an answer of another kind than the call waits for
	CodeWrongKind = "wrong_kind"
	// a result and an error, or a no with what only a yes can have
	CodeContradiction    = "contradictory"
	CodeInvalidArguments = "invalid_arguments" // edited arguments that are no object
	// a yes without the result that the call is to have
	CodeResultRequired = "result_required"
)

// Error says why a decision was refused on reading. Nothing may be stored for it.
type Error struct {
	Code   string // one of the codes above
	Detail string // a sentence for the caller
}

func (e *Error) Error() string { return "core: " + e.Code + ": " + e.Detail }

// Input is a decision as a caller wrote it, loosely. Absent members are empty; a Result of
// null is a result.
type Input struct {
	ID         string // the caller's key; empty: the decision names itself by its content
	Suspension string // the suspension its target was resolved to
	Action     string
	Result     json.RawMessage
	Error      string
	Arguments  json.RawMessage // edited ones; null is none
	Grant      string
	Reason     string
	At         int64

	Shown, ShownBy string // see [core.Resume]
}

// Check refuses what is wrong for every kind of call, so that it can be said before any call is
// looked for. The error is an [*Error].
func (in Input) Check() error {
	_, wrong := in.edited()
	switch {
	case in.Action != "" && in.Action != core.ActionResume.String() && in.Action != core.ActionCancel.String():
		return &Error{CodeBadAction, "action must be resume, cancel or omitted"}
	case in.Grant != "" && in.Grant != string(core.GrantRun):
		return &Error{CodeBadGrant, "grant must be run or omitted"}
	case wrong != nil:
		return wrong
	case !core.IsNull(in.Result) && in.Error != "":
		return &Error{CodeContradiction, "the decision has both a result and an error; send one of them"}
	}
	return nil
}

// Digest is of what the decision says: the suspension, the action, the result, the error, the
// reason, and edited arguments and a grant if there are any. It does not depend on how the target
// was named, nor on how the JSON was written, nor on what the approver was shown: a repeat from
// another client is the same decision.
func (in Input) Digest() string {
	said := map[string]any{
		"target": in.Suspension, "action": in.Action, "result": canonicalOrRaw(in.Result), "error": in.Error, "reason": in.Reason,
	}
	if !core.IsNull(in.Arguments) {
		said["arguments"] = canonicalOrRaw(in.Arguments)
	}
	if in.Grant != "" {
		said["grant"] = in.Grant
	}
	return core.Digest(core.Encode(said))
}

// OwnID is the id of a decision that comes without one: it follows from what the decision says.
func (in Input) OwnID() string { return "dec_" + in.Digest()[:24] }

func canonicalOrRaw(raw json.RawMessage) any {
	if raw == nil {
		// apart from null, which is a result; no result encodes to the bare empty text
		return ""
	}
	if c, err := core.Canonical(raw); err == nil {
		return map[string]any{"json": c}
	}
	return map[string]any{"text": string(raw)}
}

// Question is what a decision answers: who is expected to answer, and what becomes of the answer.
type Question struct {
	Kind core.Kind
	Mode core.ResumeMode

	// Schema says that the call declares what an answer looks like. An answer that the schema
	// takes is an answer then, also if it looks like a verdict; the code that reads the
	// decision checks it against the schema.
	Schema bool

	GoOn bool // the run asks whether it may go on: there is nothing to edit or to grant
}

// QuestionOf is what a decision on the suspended call answers.
func QuestionOf(c core.SuspendedCall) Question {
	return Question{Kind: c.Kind, Mode: c.Mode(), Schema: c.Suspension.Declares(), GoOn: c.AsksToGoOn()}
}

// Read reads a loose decision on a call that waits. It is strict where an answer could run a tool:
// only a clear yes counts as a yes. A decision without an ID gets one from its digest, so that a
// repeat is the same decision and a different answer never is. The error is an [*Error].
func Read(q Question, in Input) (core.Resume, error) {
	if err := in.Check(); err != nil {
		return core.Resume{}, err
	}
	action, err := readAction(q, in)
	if err == nil {
		err = in.checkExtras(q, action)
	}
	if err != nil {
		return core.Resume{}, err
	}
	r := core.Resume{DecisionID: in.ID, Action: action, Result: in.Result, Error: in.Error, Reason: in.Reason, Grant: core.Grant(in.Grant), UpdatedAt: in.At,
		Shown: in.Shown, ShownBy: in.ShownBy}
	if r.Arguments, err = in.edited(); err != nil {
		return core.Resume{}, err
	}
	if r.DecisionID == "" {
		r.DecisionID = in.OwnID()
	}
	if r.Reason == "" && action == core.ActionCancel {
		r.Reason = reasonOf(in)
	}
	return r, nil
}

// awaits says what a call of each kind waits for.
var awaits = map[core.Kind]string{core.KindClient: "a result", core.KindInput: "an answer", core.KindUnknownOutcome: "a report of what happened",
	core.KindInterrupt: "a resume"}

func readAction(q Question, in Input) (core.ResumeAction, error) {
	if q.Kind == core.KindInterrupt {
		return readGoOn(in)
	}
	if in.Action == core.ActionCancel.String() {
		return core.ActionCancel, nil
	}
	switch q.Kind {
	case core.KindClient, core.KindInput:
		return readAnswer(q, in)
	case core.KindUnknownOutcome:
		return readOutcome(in)
	}
	return readApproval(q.Mode, in)
}

// readAnswer reads a decision on a call that waits for a result from outside. It accepts every
// result as it is.
func readAnswer(q Question, in Input) (core.ResumeAction, error) {
	kind := q.Kind
	switch {
	case in.Error != "":
		return core.ActionResume, nil
	case in.Result == nil && in.Action != "":
		return 0, &Error{CodeWrongKind, fmt.Sprintf("a call of kind %s waits for a result or an error, not for an approval", kind)}
	case in.Result == nil:
		return 0, &Error{CodeUnclearDecision, "the decision is empty; send a result, an error or action cancel"}
	case kind == core.KindClient && !q.Schema && in.Action == "" && approvalShaped(in.Result):
		return 0, &Error{CodeWrongKind, "a call of kind client waits for a result, not for an approval; send the result"}
	}
	return core.ActionResume, nil
}

// readOutcome reads a decision on a call with an unknown outcome. Resume without a result or error
// runs the call, so a null result is refused: once stored, it would read the same.
func readOutcome(in Input) (core.ResumeAction, error) {
	switch {
	case in.Error != "":
		return core.ActionResume, nil
	case in.Result != nil && core.IsNull(in.Result):
		return 0, &Error{CodeUnclearDecision, "a null result does not say whether the call took effect; send its result, an error, or action resume alone to run it"}
	case in.Action == "" && approvalShaped(in.Result):
		return 0, &Error{CodeWrongKind, "an approval does not say what happened; send the call's result, an error, or action resume to run it"}
	case in.Result != nil, in.Action != "":
		return core.ActionResume, nil
	}
	return 0, &Error{CodeUnclearDecision, "the decision does not say what happened; send the call's result, an error, action resume to run it, or action cancel to leave it"}
}

// readGoOn reads a decision on an interrupted run, which can only resume. A caller who doesn't want
// that cancels the run instead.
func readGoOn(in Input) (core.ResumeAction, error) {
	switch {
	case in.Action == core.ActionCancel.String():
		return 0, &Error{CodeWrongKind, "an interrupted run can't be denied; resume it, or cancel the run instead"}
	case in.Error != "", !core.IsNull(in.Result):
		return 0, &Error{CodeWrongKind, "an interrupted run takes neither a result nor an error; send action resume alone"}
	}
	return core.ActionResume, nil
}
