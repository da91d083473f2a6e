package wire

import (
	"encoding/json"
)

// StartRequest is the body of POST /v1/runs. Input is text or a list of content parts. Permissions
// can only take away from the agent's; Memory of false keeps the run out of the agent's memory.
type StartRequest struct {
	Agent    string          `json:"agent"`
	Input    json.RawMessage `json:"input"`
	ThreadID string          `json:"thread_id,omitempty"`
	// the caller's own id of the conversation
	ThreadKey string `json:"thread_key,omitempty"`
	// the caller's own id of the input
	MessageID   string          `json:"message_id,omitempty"`
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

// MessageRequest is the body of POST /v1/threads/{id}/messages. OnPending is refuse (or empty),
// abandon or queue.
type MessageRequest struct {
	Input json.RawMessage `json:"input"`
	// the caller's own id of the message
	MessageID string `json:"message_id,omitempty"`
	OnPending string `json:"on_pending,omitempty"`
}

// Run is a run as callers see it. Output is null, or the final text as a JSON string, or the value
// that the run finished with.
type Run struct {
	ID           string  `json:"id"`
	ThreadID     string  `json:"thread_id"`
	Agent        string  `json:"agent"`
	AgentVersion string  `json:"agent_version"`
	Status       string  `json:"status"`
	Reason       *string `json:"reason"`
	Code         string  `json:"code,omitempty"`
	Detail       string  `json:"detail,omitempty"`
	// "model": it does not answer; Code and Detail say why
	WaitingOn    string `json:"waiting_on,omitempty"`
	WaitingSince *Time  `json:"waiting_since,omitempty"`
	// with WaitingOn; absent while an attempt is under way
	NextAttemptAt *Time `json:"next_attempt_at,omitempty"`
	Work
	Output        json.RawMessage `json:"output"`
	ResponseState *string         `json:"response_state"`
	Error         *RunError       `json:"error"`
	RetryOf       *string         `json:"retry_of"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	Pending       []Pending       `json:"pending"`
	// messages that wait for the end of the run
	Queued    int    `json:"queued,omitempty"`
	StartedBy *Actor `json:"started_by,omitempty"`
	// of the input it was started with
	FirstLine   string `json:"first_line,omitempty"`
	CancelledBy *Actor `json:"cancelled_by,omitempty"` // of a run that was cancelled
	// of its events: the position behind all that was committed when it was read
	Cursor    string `json:"cursor"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// Work is what a run has done so far.
type Work struct {
	Steps       int   `json:"steps"`
	Activations int   `json:"activations"`
	Resumes     int   `json:"resumes"`
	Usage       Usage `json:"usage"`
}

// Actor is who did something: the principal, and the way it came, such as api or queue. By is left
// out where callers have no names.
type Actor struct {
	By  string `json:"by,omitempty"`
	Via string `json:"via,omitempty"`
}

// OutputText is the output as text: what a JSON string holds, any other value as JSON. ok is false
// if there is none.
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
