package wire

import (
	"encoding/json"
)

// VerdictForm is a [Verdict] as the page of a link sends it. Result is text; where the schema of
// the result is not that of a text, it is JSON. Without the fingerprint of the question the form is
// refused.
type VerdictForm struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	Result string `json:"result,omitempty"`
	Shown  string `json:"shown"`
}

// Verdict is what is sent to an approval's link: action must be resume (approve) or cancel (deny).
type Verdict struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`

	// of a call that doesn't run: what it comes to
	Result json.RawMessage `json:"result,omitempty"`
	// the fingerprint of the question that was shown
	Shown string `json:"shown,omitempty"`
}

// Decision answers a suspension. Arguments are edited ones, Grant says what else an approval
// allows: "run", the calls of this run that the same rule would ask about.
type Decision struct {
	DecisionID string          `json:"decision_id,omitempty"`
	Target     string          `json:"target"`
	Action     string          `json:"action,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Grant      string          `json:"grant,omitempty"`
	Reason     string          `json:"reason,omitempty"`

	// Shown is the fingerprint of the question as its approver was shown it; the decision is
	// refused if that is not the question any more. ShownBy is what drew it, with its version.
	Shown   string `json:"shown,omitempty"`
	ShownBy string `json:"shown_by,omitempty"`
}

// Answer is a [Decision] on a target that is known.
type Answer struct {
	DecisionID string          `json:"decision_id,omitempty"`
	Action     string          `json:"action,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Grant      string          `json:"grant,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Shown      string          `json:"shown,omitempty"`
	ShownBy    string          `json:"shown_by,omitempty"`
}

// Decision is the answer as a decision on target.
func (a Answer) Decision(target string) Decision {
	return Decision{DecisionID: a.DecisionID, Target: target, Action: a.Action, Result: a.Result, Error: a.Error, Arguments: a.Arguments,
		Grant: a.Grant, Reason: a.Reason, Shown: a.Shown, ShownBy: a.ShownBy}
}

// Decisions is the body that carries several at once. AllOrNone stores all of them in one write, or
// none.
type Decisions struct {
	Decisions []Decision `json:"decisions"`
	AllOrNone bool       `json:"all_or_none,omitempty"`
}

// DecisionAnswer is what became of one decision. Status is the HTTP status it would have had alone.
type DecisionAnswer struct {
	Status     int    `json:"status"`
	Code       string `json:"code"` // accepted, already_decided, or an error code
	Detail     string `json:"detail,omitempty"`
	Target     string `json:"target"`
	CallID     string `json:"call_id,omitempty"`
	DecisionID string `json:"decision_id,omitempty"`
	// Same: with already_decided, whether it was this decision. Applied: whether it took
	// effect; absent while that is open.
	Same    *bool `json:"same,omitempty"`
	Applied *bool `json:"applied,omitempty"`
	// Winner is the decision that was first, when it was another.
	Winner *Winner `json:"winner,omitempty"`

	// Cursor is the position in the run's events at which the decision was accepted.
	Cursor string `json:"cursor,omitempty"`
}

// Winner is the decision that was first.
type Winner struct {
	DecisionID string          `json:"decision_id"`
	Action     string          `json:"action,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	By         string          `json:"by,omitempty"` // absent where callers have no names
	Via        string          `json:"via,omitempty"`
	At         *Time           `json:"at,omitempty"`
}

// DecisionAnswers is the answer to [Decisions], in the same order.
type DecisionAnswers struct {
	Answers []DecisionAnswer `json:"answers"`
}
