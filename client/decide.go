package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// The actions of a decision.
const (
	ActionResume = "resume" // approve the call, or resume the run
	ActionCancel = "cancel" // deny the call, or decline to answer
)

// GrantRun, as the Grant of a decision, also allows later calls of the run under the same rule.
const GrantRun = "run" // until the run waits again, ends or gets a message

// The codes of a [DecisionAnswer] that was stored, now or earlier.
const (
	// the decision was stored; it takes effect unless the run is cancelled first
	CodeAccepted = "accepted"
	// a decision was stored before; Same says whether it was this one
	CodeAlreadyDecided = "already_decided"
)

// Decision answers a suspension. The Kind of the suspended call decides which fields it needs.
// [Pending.Approve], [Pending.Deny], [Pending.ApproveWith] and [Pending.Answer] make decisions.
type Decision struct {
	// The caller's key for this decision, at most 255 bytes. If omitted, it is derived from the
	// other members, so a repeat counts as the same decision.
	DecisionID string `json:"decision_id,omitempty"`
	// The id of the suspension. The id of the call is accepted too, if the call was suspended
	// only once.
	Target string `json:"target"`
	// "resume" approves, "cancel" denies. If omitted, Result decides.
	Action string `json:"action,omitempty"`
	// The result of a client call, an input call, or a call with an unknown outcome. For an
	// approval: yes or no. Any JSON.
	Result json.RawMessage `json:"result,omitempty"`
	// Instead of a result: the call failed. For an approval, a denial.
	Error string `json:"error,omitempty"`
	// With an approval: arguments that replace the model's.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// With an approval: "run" also allows later calls that the same rule would ask about.
	Grant string `json:"grant,omitempty"`
	// The reason, for the record. The model sees the reason of a denial.
	Reason string `json:"reason,omitempty"`
	// The Fingerprint of the question that the approver saw. If the question has changed,
	// nothing is stored (409 "changed"). If omitted, this isn't checked. It doesn't count when
	// a repeat is compared with the first decision.
	Shown string `json:"shown,omitempty"`
	// With Shown: the program that showed the question, such as "desk/2". Default: "api".
	ShownBy string `json:"shown_by,omitempty"`
	// For how many seconds it is held: 1 to 60. If omitted, it takes effect at once.
	Hold int `json:"hold,omitempty"`
}

// Answer is a [Decision] without a target: that of a suspension whose id is known.
type Answer struct {
	// The caller's key for this decision, at most 255 bytes. If omitted, it is derived from the
	// other members, so a repeat counts as the same decision.
	DecisionID string `json:"decision_id,omitempty"`
	// "resume" approves, "cancel" denies. If omitted, Result decides.
	Action string `json:"action,omitempty"`
	// The result of a client call, an input call, or a call with an unknown outcome. For an
	// approval: yes or no. Any JSON.
	Result json.RawMessage `json:"result,omitempty"`
	// Instead of a result: the call failed. For an approval, a denial.
	Error string `json:"error,omitempty"`
	// With an approval: arguments that replace the model's.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// With an approval: "run" also allows later calls that the same rule would ask about.
	Grant string `json:"grant,omitempty"`
	// The reason, for the record. The model sees the reason of a denial.
	Reason string `json:"reason,omitempty"`
	// The Fingerprint of the question that the approver saw. If the question has changed,
	// nothing is stored (409 "changed"). If omitted, this isn't checked. It doesn't count when
	// a repeat is compared with the first decision.
	Shown string `json:"shown,omitempty"`
	// With Shown: the program that showed the question, such as "desk/2". Default: "api".
	ShownBy string `json:"shown_by,omitempty"`
	// For how many seconds it is held: 1 to 60. If omitted, it takes effect at once.
	Hold int `json:"hold,omitempty"`
}

// Decision returns the answer as a decision on target.
func (a Answer) Decision(target string) Decision {
	return Decision{DecisionID: a.DecisionID, Target: target, Action: a.Action, Result: a.Result, Error: a.Error, Arguments: a.Arguments,
		Grant: a.Grant, Reason: a.Reason, Shown: a.Shown, ShownBy: a.ShownBy, Hold: a.Hold}
}

// answer is the decision without its target.
func (d Decision) answer() Answer {
	return Answer{DecisionID: d.DecisionID, Action: d.Action, Result: d.Result, Error: d.Error, Arguments: d.Arguments, Grant: d.Grant, Reason: d.Reason,
		Shown: d.Shown, ShownBy: d.ShownBy, Hold: d.Hold}
}

// Decisions are several decisions on the calls of one run; see [Client.DecideAll].
type Decisions struct {
	// 1 to 100 decisions.
	Decisions []Decision `json:"decisions"`
	// Store all decisions in one write, or none of them. At most 16 decisions.
	AllOrNone bool `json:"all_or_none,omitempty"`
}

// DecisionAnswer is the server's answer to one decision.
type DecisionAnswer struct {
	// The HTTP status the decision would have had on its own.
	Status int `json:"status"`
	// "accepted", "already_decided", "withdrawn", or the code of an error.
	Code string `json:"code"`
	// An explanation of the error.
	Detail string `json:"detail,omitempty"`
	// The target of the request.
	Target string `json:"target"`
	// The call that was answered.
	CallID string `json:"call_id,omitempty"`
	// The caller's key, or the derived one. It is unique per voter only: two people who vote
	// the same have the same derived one.
	DecisionID string `json:"decision_id,omitempty"`
	// With "already_decided": whether the accepted decision is this one.
	Same *bool `json:"same,omitempty"`
	// Whether the decision took effect. Nil until that is known.
	Applied *bool `json:"applied,omitempty"`
	// The decision is held: it takes effect at this time, and can be withdrawn before.
	AppliesAt *Time `json:"applies_at,omitempty"`
	// The decision that was accepted first, if it was a different one.
	Winner *Winner `json:"winner,omitempty"`
	// With "accepted", if several people decide about the call: how far they have come.
	Votes *Votes `json:"votes,omitempty"`
	// With "accepted": the position in the run's events at that time. Read from here to see
	// what the decision causes.
	Cursor string `json:"cursor,omitempty"`
}

// Winner is the decision that was accepted first.
type Winner struct {
	// The key of the decision.
	DecisionID string `json:"decision_id"`
	// The action of the decision.
	Action string `json:"action,omitempty"`
	// The result of the decision.
	Result json.RawMessage `json:"result,omitempty"`
	// The error of the decision.
	Error string `json:"error,omitempty"`
	// The reason of the decision.
	Reason string `json:"reason,omitempty"`
	// Who decided. Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point.
	Via string `json:"via,omitempty"`
	// When the decision was made.
	At *Time `json:"at,omitempty"`
	// If several people decided: what they said.
	Votes *Votes `json:"votes,omitempty"`
}

// DecisionAnswers are the answers to [Decisions], in the same order.
type DecisionAnswers struct {
	// One answer for each decision.
	Answers []DecisionAnswer `json:"answers"`
}

// Approve returns the decision that approves the call. It names the question as p shows it: if the
// arguments or the preview have changed since, the server refuses it with the code "changed".
func (p Pending) Approve() Decision {
	return Decision{Target: p.Suspension.ID, Action: ActionResume, Shown: p.Fingerprint}
}

// Deny returns the decision that denies the call. The model sees the reason.
func (p Pending) Deny(reason string) Decision {
	return Decision{Target: p.Suspension.ID, Action: ActionCancel, Reason: reason, Shown: p.Fingerprint}
}

// ApproveWith returns the decision that approves the call with other arguments: a value that JSON
// writes as an object.
func (p Pending) ApproveWith(arguments any) (Decision, error) {
	raw, err := encode(arguments)
	if err != nil {
		return Decision{}, err
	}
	d := p.Approve()
	d.Arguments = raw
	return d, nil
}

// Answer returns the decision that answers a call of the kind "client", "input" or
// "unknown_outcome" with its result, a value that fits p.Suspension.ResponseSchema.
func (p Pending) Answer(result any) (Decision, error) {
	raw, err := encode(result)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Target: p.Suspension.ID, Result: raw, Shown: p.Fingerprint}, nil
}

// Decide sends a decision on a suspended call of the run. The first decision counts: if another
// one was accepted before, the error is an [*Error] with the code "already_decided" and its Winner.
//
// Sending a decision again has no further effect, so the client retries it when the answer is lost.
// The repeat has the code [CodeAlreadyDecided] and Same. A decision without a DecisionID has one
// that the server derives from its content, so this also holds when a program restarts and decides
// again.
func (c *Client) Decide(ctx context.Context, run string, d Decision) (DecisionAnswer, error) {
	var answer DecisionAnswer
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/decisions"), body: d}, &answer)
	return answer, err
}

// DecideAll sends several decisions on calls of the run. Each has its own answer, in the same
// order. With ds.AllOrNone the server stores all of them or none: if it refuses one, the error is
// an [*Error] with the code "batch_refused" and the Answers.
func (c *Client) DecideAll(ctx context.Context, run string, ds Decisions) ([]DecisionAnswer, error) {
	var answers DecisionAnswers
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/decisions"), body: ds}, &answers)
	return answers.Answers, err
}

// DecideSuspension is [Client.Decide] for a suspension whose run isn't known.
func (c *Client) DecideSuspension(ctx context.Context, d Decision) (DecisionAnswer, error) {
	var answer DecisionAnswer
	err := c.do(ctx, request{method: http.MethodPost, path: suspensionPath(d.Target), body: d.answer()}, &answer)
	return answer, err
}

// Withdraw takes back a held decision of the same caller. Once it has taken effect, the error has
// the code "decision_applied". Withdrawing it again has no further effect.
func (c *Client) Withdraw(ctx context.Context, suspension, decision string) (DecisionAnswer, error) {
	var answer DecisionAnswer
	err := c.do(ctx, request{method: http.MethodDelete, path: suspensionPath(suspension) + "/decisions/" + url.PathEscape(decision)}, &answer)
	return answer, err
}

// SuspensionState is a suspension as [Client.Suspension] reads it: Approval or Outcome is set.
type SuspensionState struct {
	Approval *Approval // the call waits for an answer
	Outcome  *Outcome  // the call no longer waits
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *SuspensionState) UnmarshalJSON(raw []byte) error {
	var settled struct {
		State string `json:"state"` // of outcomes only
	}
	*s = SuspensionState{}
	if err := json.Unmarshal(raw, &settled); err != nil {
		return err
	}
	if settled.State != "" {
		return json.Unmarshal(raw, &s.Outcome)
	}
	return json.Unmarshal(raw, &s.Approval)
}

// Suspension reads a suspension by its id.
func (c *Client) Suspension(ctx context.Context, id string) (SuspensionState, error) {
	state, err := get[SuspensionState](ctx, c, suspensionPath(id), nil)
	if err == nil && state.Approval == nil && state.Outcome == nil {
		err = fmt.Errorf("client: the answer about suspension %s is empty", id)
	}
	return state, err
}

func suspensionPath(id string) string { return "/v1/suspensions/" + url.PathEscape(id) }
