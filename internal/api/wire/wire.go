// Package wire holds the JSON shapes of the HTTP API, version 1, shared by the server and its client. It does not decide
// anything and knows no HTTP.
package wire

import (
	"encoding/json"
	"time"
)

// Time is a moment in RFC 3339, UTC, with milliseconds.
type Time struct{ time.Time }

// TimeFormat is how every time is written.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Millis makes a Time of milliseconds since the Unix epoch.
func Millis(ms int64) Time { return Time{time.UnixMilli(ms).UTC()} }

func (t Time) MarshalText() ([]byte, error) { return []byte(t.UTC().Format(TimeFormat)), nil }
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeFormat) + `"`), nil
}

// StartRequest is the body of POST /v1/runs. Input is text or a list of content parts. Permissions can only take away from the agent's;
// Memory of false keeps the run out of the agent's memory.
type StartRequest struct {
	Agent       string          `json:"agent"`
	Input       json.RawMessage `json:"input"`
	ThreadID    string          `json:"thread_id,omitempty"`
	ThreadKey   string          `json:"thread_key,omitempty"` // the caller's own id of the conversation
	MessageID   string          `json:"message_id,omitempty"` // the caller's own id of the input
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	OnPending   string          `json:"on_pending,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"`
	Memory      *bool           `json:"memory,omitempty"`
}

// ResumeRequest is the body of POST /v1/runs/{id}/resume, which may be left out.
type ResumeRequest struct {
	DecisionID string `json:"decision_id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// MessageRequest is the body of POST /v1/threads/{id}/messages. OnPending is refuse (or empty), abandon or queue.
type MessageRequest struct {
	Input     json.RawMessage `json:"input"`
	MessageID string          `json:"message_id,omitempty"` // the caller's own id of the message
	OnPending string          `json:"on_pending,omitempty"`
}

// Run is a run as callers see it. Output is null, or the final text as a JSON string, or the value that the run finished with.
type Run struct {
	ID            string          `json:"id"`
	ThreadID      string          `json:"thread_id"`
	Agent         string          `json:"agent"`
	AgentVersion  string          `json:"agent_version"`
	Status        string          `json:"status"`
	Reason        *string         `json:"reason"`
	Code          string          `json:"code,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	WaitingOn     string          `json:"waiting_on,omitempty"` // "model": it does not answer; Code and Detail say why
	WaitingSince  *Time           `json:"waiting_since,omitempty"`
	NextAttemptAt *Time           `json:"next_attempt_at,omitempty"` // with WaitingOn; absent while an attempt is under way
	Steps         int             `json:"steps"`
	Activations   int             `json:"activations"`
	Resumes       int             `json:"resumes"`
	Usage         Usage           `json:"usage"`
	Output        json.RawMessage `json:"output"`
	ResponseState *string         `json:"response_state"`
	Error         *RunError       `json:"error"`
	RetryOf       *string         `json:"retry_of"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	Pending       []Pending       `json:"pending"`
	Queued        int             `json:"queued,omitempty"` // messages that wait for the end of the run
	StartedBy     *Actor          `json:"started_by,omitempty"`
	FirstLine     string          `json:"first_line,omitempty"`   // of the input it was started with
	CancelledBy   *Actor          `json:"cancelled_by,omitempty"` // of a run that was cancelled
	Cursor        string          `json:"cursor"`                 // of its events: the position behind all that was committed when it was read
	CreatedAt     Time            `json:"created_at"`
	UpdatedAt     Time            `json:"updated_at"`
}

// Actor is who did something: the principal, and the way it came, such as api or queue. By is left out where callers have no names.
type Actor struct {
	By  string `json:"by,omitempty"`
	Via string `json:"via,omitempty"`
}

// OutputText is the output as text: what a JSON string holds, any other value as JSON. ok is false if there is none.
func (r Run) OutputText() (text string, ok bool) {
	if len(r.Output) == 0 || string(r.Output) == "null" {
		return "", false
	}
	if json.Unmarshal(r.Output, &text) != nil {
		text = string(r.Output)
	}
	return text, true
}

// Usage counts what the model took in and gave out.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// RunError is why a run ended in error.
type RunError struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// Pending is a call that waits for an answer. Arguments are those it would run with. A run that was interrupted waits as a call of kind
// interrupt, without a tool.
type Pending struct {
	CallID     string          `json:"call_id"`
	ToolName   string          `json:"tool_name"`
	Tool       string          `json:"tool"` // the same as ToolName
	Arguments  json.RawMessage `json:"arguments"`
	Asked      json.RawMessage `json:"asked_arguments,omitempty"` // as the model asked; absent unless a person edited them
	Kind       string          `json:"kind"`
	Suspension Suspension      `json:"suspension"`
	ResumeMode string          `json:"resume_mode"`
	Since      Time            `json:"since"`
	Deadline   *Time           `json:"deadline,omitempty"`
	Grantable  bool            `json:"grantable,omitempty"`   // a decision may carry "grant":"run"
	GrantScope string          `json:"grant_scope,omitempty"` // what that allows, in a sentence for the approver
	NotBy      string          `json:"not_by,omitempty"`      // starter: who asked for the work may not approve it
	Approvers  []string        `json:"approvers,omitempty"`   // the only callers who may approve it
	// Warnings are what a reader of the arguments may miss: characters that do not show, letters that look like others, and the like.
	Warnings []Warning `json:"warnings,omitempty"`

	// Requests are the thread's user messages that the model had read when it asked for the call, the newest last. RequestsCut says that
	// there are earlier ones.
	Requests    []Request `json:"requests,omitempty"`
	RequestsCut bool      `json:"requests_cut,omitempty"`
	// Said is the model's own text in the turn that asks for the call. It is the model's account, not a fact.
	Said    string `json:"said,omitempty"`
	SaidCut bool   `json:"said_cut,omitempty"`
	// ToolDetails is absent where the definition that the run is pinned to cannot be read.
	ToolDetails *ToolDetails `json:"tool_details,omitempty"`
	// Preview is what the call would do, if the agent says how to show that. It was made before anyone was asked.
	Preview *Preview `json:"preview,omitempty"`
	// Fingerprint names exactly this question. A decision sends it back as Shown.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Preview is a text with the call's arguments in it, or what a tool that only reads found. Failed says why there is none.
type Preview struct {
	Text   string `json:"text,omitempty"`
	Failed string `json:"failed,omitempty"`
	Tool   string `json:"tool,omitempty"` // that found it; empty for a text of the agent's author
}

// Request is a user message as an approver is shown it.
type Request struct {
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"`   // the text goes on
	Files int    `json:"files,omitempty"` // images and documents that came with it
	By    string `json:"by,omitempty"`    // its sender
	Via   string `json:"via,omitempty"`
}

// ToolDetails say what a tool does and where its calls go, as its author wrote it. No secret is in them.
type ToolDetails struct {
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind,omitempty"`   // http, lambda, mcp, go, client or recorded
	Target      string `json:"target,omitempty"` // POST api.example.com, the name of a function, server/tool
}

// Warning is about one value of some arguments, or a name on the way to it. Path is a JSON Pointer (RFC 6901). Code is stable; Text is
// plain ASCII and quotes nothing that could mislead in turn.
type Warning struct {
	Path string `json:"path"`
	Code string `json:"code"`
	Text string `json:"text"`
}

// Suspension is what a decision names as its target.
type Suspension struct {
	ID             string          `json:"id"`
	Action         string          `json:"action"`
	Message        string          `json:"message,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Approval is one entry of the inbox of people and bots: a pending call and the run it belongs to.
type Approval struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	Agent    string `json:"agent"`
	// AgentVersion is the version that the run is pinned to, Metadata what its caller attached to it.
	AgentVersion string          `json:"agent_version,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	StartedBy    *Actor          `json:"started_by,omitempty"`
	// Error is set if what waits cannot be read; nothing is known of the call then.
	Error *RunError `json:"error,omitempty"`
	Pending
}

// VerdictForm is a [Verdict] as the page of a link sends it. Result is text; where the schema of the
// result is not that of a text, it is JSON. Without the fingerprint of the question the form is refused.
type VerdictForm struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	Result string `json:"result,omitempty"`
	Shown  string `json:"shown"`
}

// Verdict is what is sent to an approval's link: action is resume (yes) or cancel (no).
type Verdict struct {
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`

	Result json.RawMessage `json:"result,omitempty"` // of a call that doesn't run: what it comes to
	Shown  string          `json:"shown,omitempty"`  // the fingerprint of the question that was shown
}

// Decision answers a suspension. Arguments are edited ones, Grant says what else an approval allows: "run", the calls of this run that the
// same rule would ask about.
type Decision struct {
	DecisionID string          `json:"decision_id,omitempty"`
	Target     string          `json:"target"`
	Action     string          `json:"action,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Grant      string          `json:"grant,omitempty"`
	Reason     string          `json:"reason,omitempty"`

	// Shown is the fingerprint of the question as its approver was shown it; the decision is refused if that is not the question any
	// more. ShownBy is what drew it, with its version.
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

// Decisions is the body that carries several at once. AllOrNone stores all of them in one write, or none.
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
	// Same: with already_decided, whether it was this decision. Applied: whether it took effect; absent while that is open.
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

// Message is one entry of a thread's conversation.
type Message struct {
	ID        string     `json:"id"`  // unique in the thread; of a user message, the one that its sender gave it
	Seq       int64      `json:"seq"` // of the event that tells of the message
	Step      int        `json:"step,omitempty"`
	RunID     string     `json:"run_id"`
	Role      string     `json:"role"`
	Text      string     `json:"text"`
	Parts     []Part     `json:"parts,omitempty"` // all of them, if there is more than text
	Cut       bool       `json:"cut,omitempty"`   // of an assistant message: a cancel stopped the model in the middle of it
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Error     bool       `json:"error,omitempty"`

	// Of a tool message: how the call ended, its result as JSON (absent if it is plain text, or was cut off), the edited arguments that it
	// ran with, and what hooks added for the model.
	Outcome string          `json:"outcome,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	Added   string          `json:"added,omitempty"`

	Pending bool   `json:"pending,omitempty"`
	By      string `json:"by,omitempty"`      // of a user message
	Via     string `json:"via,omitempty"`     // of a user message
	Answers string `json:"answers,omitempty"` // of a user message: the call whose result its text became
	At      Time   `json:"at"`
}

// Part is one piece of a message. Data is there only where it was asked for.
type Part struct {
	Type      string `json:"type"` // text, reasoning, image or document
	Text      string `json:"text,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Name      string `json:"name,omitempty"`
	Bytes     int    `json:"bytes,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

// ToolCall is a call in an assistant message.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Call is one tool call of a run, from the model's turn that asked for it to its end.
type Call struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`            // as the model asked
	RanWith   json.RawMessage `json:"ran_with,omitempty"`   // the edited arguments that it ran with, or would run with
	MessageID string          `json:"message_id,omitempty"` // the assistant message that asks for it
	Step      int             `json:"step,omitempty"`
	Status    string          `json:"status"`

	// Of a call that waits, or waited last: for whom, until when, the suspension to answer, and the decision that was applied to it.
	Kind        string                `json:"kind,omitempty"`
	ResumeToken string                `json:"resume_token,omitempty"`
	ResumeMode  string                `json:"resume_mode,omitempty"`
	Deadline    *Time                 `json:"deadline,omitempty"`
	Resume      *DecisionRecordedData `json:"resume,omitempty"`
	Scratch     json.RawMessage       `json:"scratch,omitempty"` // what the tool keeps while the call waits

	// Of a call that has ended. Result is what the model reads, and may be empty.
	Outcome    string          `json:"outcome,omitempty"`
	Result     *string         `json:"result,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	MayHaveRun bool            `json:"may_have_run,omitempty"`

	Attempts  int   `json:"attempts"` // bodies that have started
	ReadyAt   Time  `json:"ready_at"`
	StartedAt *Time `json:"started_at,omitempty"` // the last body
	EndedAt   *Time `json:"ended_at,omitempty"`
	UpdatedAt Time  `json:"updated_at"`
}

// Thread is a conversation.
type Thread struct {
	ID     string `json:"id"`
	Key    string `json:"key,omitempty"` // the thread_key it was read by
	Agent  string `json:"agent"`
	RunID  string `json:"run_id"` // the newest
	Status string `json:"status"`
	Cursor string `json:"cursor"` // of its events: the position behind all that was committed when it was read
}

// Event is one entry of a thread's log. Seq is dense per thread. Cursor says where a reader goes on behind it.
type Event struct {
	Version  int             `json:"v"` // of the shapes of all events: [EventVersion]
	Seq      int64           `json:"seq"`
	RunID    string          `json:"run_id"`
	ThreadID string          `json:"thread_id"`
	Turn     int             `json:"turn"`
	Step     int             `json:"step,omitempty"`
	At       Time            `json:"at"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`

	// Checkpoint names the checkpoints that the commit is whose last event this is.
	Checkpoint []string `json:"checkpoint,omitempty"`
	Cursor     string   `json:"cursor"`
}

// EventVersion is the version of the shapes of events. Members may be added to a shape; a change of what is there raises it.
const EventVersion = 1

// Agent is something that can be run.
type Agent struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description,omitempty"`
	Model        string `json:"model"`
	Instructions string `json:"instructions,omitempty"`
	Tools        []Tool `json:"tools"`

	// Unavailable says why the agent cannot be started now and why its runs wait; empty if it can.
	Unavailable string `json:"unavailable,omitempty"`
}

// Tool is a tool of an agent.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"` // JSON Schema of what the caller answers, of a client tool
	Delivery    string          `json:"delivery,omitempty"`
	Client      bool            `json:"client,omitempty"`
	Permission  string          `json:"permission"`
}

// Page is one page of a list. Next is empty on the last one. A page may be short, even empty, with more to come.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// EventPage is one page of events. Next always says where to go on; Done says that the run is over, Waiting that it waits for an
// answer, and that everything up to there was shown.
type EventPage struct {
	Items   []Event `json:"items"`
	Next    string  `json:"next"`
	Done    bool    `json:"done"`
	Waiting bool    `json:"waiting"`
}

// Problem is an error answer, RFC 9457. Code is stable; Detail is safe to show.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	// RunID names the run that is in the way, with run_open.
	RunID string `json:"run_id,omitempty"`
	*DecisionExtra
	*BatchExtra
}

// DecisionExtra are the members that a refused decision adds to its problem.
type DecisionExtra struct {
	Same   *bool   `json:"same,omitempty"`
	Winner *Winner `json:"winner,omitempty"`
}

// BatchExtra is the member that a refused batch adds to its problem.
type BatchExtra struct {
	Answers []DecisionAnswer `json:"answers,omitempty"` // what each decision met; nothing was stored
}

// Health is the answer of GET /healthz.
type Health struct {
	Status   string `json:"status"` // [HealthOK] or [HealthFailing]
	Version  string `json:"version"`
	Storage  string `json:"storage,omitempty"`   // what is wrong with the store; empty: nothing
	LogBytes int64  `json:"log_bytes,omitempty"` // that were committed and are not in the database's main file yet
}

// The states of a server. One whose disk is full is ok: it can be read, and its inbox can be answered once there is room.
const (
	HealthOK      = "ok"
	HealthFailing = "failing" // nothing can be stored until an operator has done something; /healthz answers 503
)

// What may be wrong with the store.
const (
	StorageFull    = "full"    // reads are served, nothing is stored
	StorageFailing = "failing" // the disk answers with errors
	StorageDamaged = "damaged" // a part of what is stored is damaged; the rest is served
	StorageGone    = "gone"    // the directory was moved, removed or replaced under the server
)
