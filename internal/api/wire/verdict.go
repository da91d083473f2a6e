package wire

import "encoding/json"

// VerdictForm is a [Verdict] as the page of a link sends it. Result is text; where the schema of
// the result is not that of a text, it is JSON. Without the fingerprint of the question the form is
// refused.
type VerdictForm struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	Result string `json:"result,omitempty"`
	Shown  string `json:"shown,omitempty"`
	// as in a [Verdict]
	Hold       string `json:"hold,omitempty"`
	Withdrawn  string `json:"withdrawn,omitempty"`
	DecisionID string `json:"decision_id,omitempty"`
	// an object, as text; of links that allow to edit
	Arguments string `json:"arguments,omitempty"`
	Token     string `json:"token,omitempty"` // of links that ask for one
	Code      string `json:"code,omitempty"`  // of links that ask for one
}

// Verdict is what is sent to an approval's link: action must be resume (approve),
// cancel (deny), withdraw (take back a held answer), or code (send a one-time code).
type Verdict struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`

	// of a call that doesn't run: what it comes to
	Result json.RawMessage `json:"result,omitempty"`
	// in place of the call's; of links that allow to edit
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// the one-time code; of links that ask for one
	Code string `json:"code,omitempty"`
	// the fingerprint of the question that was shown
	Shown string `json:"shown,omitempty"`
	// for how many seconds the answer is held
	Hold int `json:"hold,omitempty"`
	// how many decisions on the suspension had been withdrawn when it was read. An answer that
	// was withdrawn can't be sent once more under the same number.
	Withdrawn int `json:"withdrawn,omitempty"`
	// with withdraw: the decision that is taken back
	DecisionID string `json:"decision_id,omitempty"`
}
