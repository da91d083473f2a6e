package core

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// ResumeMode says how a decision becomes a result. The zero value is ReplayToolCall.
type ResumeMode uint8

const (
	// run the body again, with the arguments it was shown with
	ReplayToolCall ResumeMode = iota
	// the decision's result is the call's result; no body runs
	UseDecisionAsToolResult
	// run the body again, the decision handed to it beside its arguments
	PassDecisionToTool
)

var modeNames = []string{"replay_tool_call", "use_decision_as_tool_result", "pass_decision_to_tool"}

func (m ResumeMode) String() string { return name(modeNames, uint8(m)) }

func (m ResumeMode) MarshalText() ([]byte, error) {
	return marshalName("resume mode", modeNames, uint8(m))
}

func (m *ResumeMode) UnmarshalText(b []byte) error {
	return unmarshalName("resume mode", modeNames, b, m)
}

// Kind says who is expected to answer a suspension, and what an answer means.
type Kind uint8

const (
	KindNone     Kind = iota
	KindApproval      // a person says whether the call may run
	KindClient        // the API client runs the tool and sends its result
	KindInput         // the tool asked for something
	// the worker crashed during an at-most-once body: a person reports what happened
	KindUnknownOutcome
	// a caller interrupted the run: a resume or a message continues it
	KindInterrupt
	// another run works for the call, and its end is the answer
	KindChild
)

var kindNames = []string{"", "approval", "client", "input", "unknown_outcome", "interrupt", "child"}

func (k Kind) String() string { return name(kindNames, uint8(k)) }

func (k Kind) MarshalText() ([]byte, error) { return marshalName("kind", kindNames, uint8(k)) }

func (k *Kind) UnmarshalText(b []byte) error { return unmarshalName("kind", kindNames, b, k) }

// AsksSomeone says whether a caller or a person is notified of the wait, and of its end.
func (k Kind) AsksSomeone() bool { return k != KindInterrupt && k != KindChild }

// Suspension is why a call waits. Its id is random for each suspension and carries the number of
// the journal segment it was committed in, so that a late answer can be explained without a search
// ([SuspensionSeq]).
type Suspension struct {
	ID             string          `json:"id"`
	Action         string          `json:"action"`
	Message        string          `json:"message,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Declares says whether the suspension has a response schema that does not take everything.
func (s Suspension) Declares() bool {
	schema := string(jsonTrim(s.ResponseSchema))
	return !IsNull(s.ResponseSchema) && schema != "{}" && schema != "true"
}

// PendingCall is what is shown of a waiting call.
type PendingCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// NotByStarter bars every caller who asked for the work: who started or retried a run of the
// thread, sent it messages, or answered what it asked.
const NotByStarter = "starter"

// SuspendTicket is how a call suspends: why, what to show, and how an answer becomes a result.
type SuspendTicket struct {
	Suspension Suspension  `json:"suspension"`
	Pending    PendingCall `json:"pending"`
	ResumeMode ResumeMode  `json:"resume_mode"`
	Within     int64       `json:"-"` // ms until the deadline; 0: what the definition says

	// what the call would do, for the approver; nil: the definition says nothing about it
	Preview *Preview `json:"preview,omitempty"`

	// what the call keeps for its next run; nil: what it kept before
	Scratch json.RawMessage `json:"-"`

	// who must not say that it runs: [NotByStarter]; empty: no one is barred
	NotBy string `json:"not_by,omitempty"`
	// the only ones who may say so; none: every caller who may decide
	Approvers []string `json:"approvers,omitempty"`

	// who decides, and which of its stages this is; nil: one decision of one of the Approvers
	Policy *vote.Policy `json:"policy,omitempty"`
	Stage  int          `json:"stage,omitempty"`
	// the stages that were escalated; see [SuspendTicket.Deciding]
	Escalated []int `json:"escalated,omitempty"`
	// the suspension that this one follows: of the stage before, or of other arguments
	Follows string `json:"follows,omitempty"`
	Until   int64  `json:"-"` // the deadline that it takes over; 0: a new one

	// the run that works for the call; nil unless its kind is [KindChild]
	Child *Child `json:"child,omitempty"`
}

// SuspendedCall is a waiting call as it is journaled: the call as the model asked for it, and its
// ticket, flattened.
type SuspendedCall struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	SuspendTicket
	Kind     Kind    `json:"kind,omitempty"`
	Deadline int64   `json:"deadline,omitempty"` // 0: none
	Moments  Moments `json:"moments,omitempty"`
	// the scratch, if the call changed it; null: it keeps nothing any more
	Kept json.RawMessage `json:"scratch,omitempty"`
	// an approval may be given for the rest of the turn, see [GrantRun]
	Grantable bool `json:"grantable,omitempty"`
}

// Deciding is the policy with what escalations have changed of it: who decides now. Policy is what
// the rule demands.
func (t SuspendTicket) Deciding() *vote.Policy {
	p := t.Policy
	for _, stage := range t.Escalated {
		p = p.Escalated(stage)
	}
	return p
}

// Widened says whether an escalation has added people to a stage: who was asked before still is.
//
//	anna edits, as one of finance ── finance and the board are asked ── the edit is taken up
func (t SuspendTicket) Widened(stage int) bool {
	to := t.Policy.At(stage).Escalate
	return slices.Contains(t.Escalated, stage) && to != nil && !to.Replace
}

// Asked is the stage that is asked now.
func (t SuspendTicket) Asked() vote.Stage { return t.Deciding().At(t.Stage) }

// As is the question as it is now, given what the head knows of its call.
func (s SuspendedCall) As(c Call) SuspendedCall {
	if c.Escalated && c.Sus == s.Suspension.ID && !slices.Contains(s.Escalated, s.Stage) && s.Policy != nil {
		s.Escalated = append(slices.Clone(s.Escalated), s.Stage)
		if len(s.Approvers) > 0 {
			s.Approvers = s.Asked().Group.Entries()
		}
	}
	return s
}

// AsksToGoOn says whether the run itself asks a person whether it may go on: for a hook, before its
// first step, or because of what it has cost. No tool is behind it, so the answer is a yes or a no
// and nothing else.
func (s SuspendedCall) AsksToGoOn() bool { return s.ToolName == "" && s.Kind == KindApproval }

// Named is what a refusal calls the thing that waits.
func (s SuspendedCall) Named() string { return cmp.Or(s.ToolName, "the run's question") }

// Mode is how callers answer the call: whether the run may go on is answered as an approval is.
func (s SuspendedCall) Mode() ResumeMode {
	if s.AsksToGoOn() {
		return ReplayToolCall
	}
	return s.ResumeMode
}

// Counted says whether decisions on the suspension are votes that are counted.
func (t SuspendTicket) Counted() bool { return t.Policy.Counts() }

// NewSuspendedCall binds a ticket to the call it holds back.
func NewSuspendedCall(call ToolCall, kind Kind, ticket SuspendTicket) SuspendedCall {
	return SuspendedCall{CallID: call.ID, ToolName: call.Name, Arguments: call.Arguments, SuspendTicket: ticket, Kind: kind, Kept: ticket.Scratch}
}

// MaxScratch is how many bytes of JSON a call may keep from one run of its body to the next.
const MaxScratch = 16 << 10

// SuspendedCalls is a set of waiting calls by call id. The zero value is empty and ready to read.
type SuspendedCalls struct {
	Calls map[string]SuspendedCall `json:"calls"`
}

// ResumeAction is what a decision says. There is no zero action: a decision that says nothing is
// refused on reading.
type ResumeAction uint8

const (
	ActionResume ResumeAction = iota + 1
	ActionCancel
)

var actionNames = []string{"", "resume", "cancel"}

func (a ResumeAction) String() string { return name(actionNames, uint8(a)) }

func (a ResumeAction) MarshalText() ([]byte, error) {
	return marshalName("action", actionNames, uint8(a))
}

func (a *ResumeAction) UnmarshalText(b []byte) error {
	return unmarshalName("action", actionNames, b, a)
}

// Resume is a decision as it is journaled and handed to a replayed tool.
type Resume struct {
	DecisionID string          `json:"decision_id"`
	Action     ResumeAction    `json:"action"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	// those the call runs with, in place of the model's
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// what else is allowed with this decision
	Grant     Grant `json:"grant,omitempty"`
	UpdatedAt int64 `json:"updated_at"`

	// Shown is the fingerprint of the question as the approver was shown it, and ShownBy what
	// drew it, with its version. Both are empty if nothing was claimed. They are no part of
	// what the decision says: its digest leaves them out.
	Shown   string `json:"shown,omitempty"`
	ShownBy string `json:"shown_by,omitempty"`
}

// MarshalJSON leaves out a null result as well as an absent one.
func (r Resume) MarshalJSON() ([]byte, error) {
	type plain Resume
	if IsNull(r.Result) {
		r.Result = nil
	}
	return EncodeAny(plain(r))
}

// CallState is the record of one call that events carry.
type CallState struct {
	CallID      string          `json:"call_id,omitempty"`
	ToolName    string          `json:"tool_name,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Status      CallStatus      `json:"status"`
	ResumeToken string          `json:"resume_token,omitempty"`
	Resume      *Resume         `json:"resume,omitempty"`
	Scratch     json.RawMessage `json:"scratch,omitempty"`
	UpdatedAt   int64           `json:"updated_at"`
}

// Move changes the status by the table and stamps the change. On an illegal move the record stays
// as it was, the time included, and the error says so.
func (c *CallState) Move(next CallStatus, at int64) error {
	to, err := c.Status.To(next)
	if err != nil {
		return err
	}
	c.Status, c.UpdatedAt = to, at
	return nil
}

// IsNull says whether raw holds nothing: absent, blank or the JSON null.
func IsNull(raw json.RawMessage) bool {
	for _, b := range raw {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return string(raw) == "null" || string(jsonTrim(raw)) == "null"
	}
	return true
}
