package wire

import (
	"encoding/json"
)

// Message is one entry of a thread's conversation.
type Message struct {
	// unique in the thread; of a user message, the one that its sender gave it
	ID    string `json:"id"`
	Seq   int64  `json:"seq"` // of the event that tells of the message
	Step  int    `json:"step,omitempty"`
	RunID string `json:"run_id"`
	Role  string `json:"role"`
	Text  string `json:"text"`
	Parts []Part `json:"parts,omitempty"` // all of them, if there is more than text
	// of an assistant message: a cancel stopped the model in the middle of it
	Cut       bool       `json:"cut,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Error     bool       `json:"error,omitempty"`

	// Of a tool message: how the call ended, its result as JSON (absent if it is plain text, or
	// was cut off), the edited arguments that it ran with, and what hooks added for the model.
	Outcome string          `json:"outcome,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	Added   string          `json:"added,omitempty"`

	Pending bool   `json:"pending,omitempty"`
	By      string `json:"by,omitempty"`  // of a user message
	Via     string `json:"via,omitempty"` // of a user message
	// of a user message: the call whose result its text became
	Answers string `json:"answers,omitempty"`
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
	Arguments json.RawMessage `json:"arguments"` // as the model asked
	// the edited arguments that it ran with, or would run with
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	// the assistant message that asks for it
	MessageID string `json:"message_id,omitempty"`
	Step      int    `json:"step,omitempty"`
	Status    string `json:"status"`

	// Of a call that waits, or waited last: for whom, until when, the suspension to answer, and
	// the decision that was applied to it.
	Kind        string                `json:"kind,omitempty"`
	ResumeToken string                `json:"resume_token,omitempty"`
	ResumeMode  string                `json:"resume_mode,omitempty"`
	Deadline    *Time                 `json:"deadline,omitempty"`
	Resume      *DecisionRecordedData `json:"resume,omitempty"`
	// what the tool keeps while the call waits
	Scratch json.RawMessage `json:"scratch,omitempty"`

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
	// of its events: the position behind all that was committed when it was read
	Cursor string `json:"cursor"`
}
