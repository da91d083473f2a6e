package events

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// PendingCall is a waiting call in a turn.ended event.
type PendingCall struct {
	CallID     string    `json:"call_id"`
	ToolName   string    `json:"tool_name"`
	Kind       core.Kind `json:"kind"`
	Suspension string    `json:"suspension"`
	Deadline   int64     `json:"deadline,omitempty"`
}

// TurnStarted is the data of a turn.started event.
type TurnStarted struct {
	Cause core.TurnCause `json:"cause"`
}

// TurnEnded is the data of a turn.ended event. Readers also get the output of a run that is done;
// it is a message of the journal.
type TurnEnded struct {
	Status        string             `json:"status"` // suspended or done
	Reason        string             `json:"reason,omitempty"`
	Code          string             `json:"code,omitempty"`
	Detail        string             `json:"detail,omitempty"`
	By            string             `json:"by,omitempty"` // of a cancel
	Via           string             `json:"via,omitempty"`
	ResponseState core.ResponseState `json:"response_state,omitempty"`
	Usage         Tokens             `json:"usage"` // of the run so far
	Pending       []PendingCall      `json:"pending,omitempty"`
}

// Tokens are what the run's model calls have used.
type Tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}
