// Package events defines the data of the events that the planner journals. The JSON is stored and
// sent to readers: members are added, and none is renamed.
package events

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// Ready is the data of a call.ready event; the tool and the arguments are the message's.
type Ready struct {
	CallID string `json:"call_id"`
	Client bool   `json:"client,omitempty"` // the API client runs the tool
}

// InvalidAnswer is the data of a call.invalid_answer event.
type InvalidAnswer struct {
	CallID     string `json:"call_id"`
	Suspension string `json:"suspension"`
	Detail     string `json:"detail"`
	By         string `json:"by,omitempty"`
	Via        string `json:"via,omitempty"`
}

// Refused is the data of a decision.refused event.
type Refused struct {
	CallID     string `json:"call_id"`
	Suspension string `json:"suspension"`
	Code       string `json:"code"`
	By         string `json:"by,omitempty"`
	Via        string `json:"via,omitempty"`
}

// Reminded is the data of call.reminded, call.escalated and call.deadline_near events. There is one
// event for all moments that had passed.
type Reminded struct {
	CallID     string `json:"call_id"`
	ToolName   string `json:"tool_name,omitempty"`
	Suspension string `json:"suspension"`
	Moment     int    `json:"moment"` // how many of the moments have passed
	Moments    int    `json:"moments"`
	Deadline   int64  `json:"deadline,omitempty"` // 0: none
	// of call.escalated: the group that is asked, and whether it decides in place of the first
	Group    string `json:"group,omitempty"`
	Replaced bool   `json:"replaced,omitempty"`
}

// Asked is the data of interrupt.recorded and cancel.recorded events.
type Asked struct {
	ID      string `json:"id,omitempty"`
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	Applied bool   `json:"applied"`
}

// MessageReceived is the data of a message.received event; the text is the message's.
type MessageReceived struct {
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	Answers string `json:"answers,omitempty"`
}

// Spoken is the data of text.ended and reasoning.ended events; the text is the message's.
type Spoken struct {
	PartID string `json:"part_id"`
	Cut    bool   `json:"cut,omitempty"` // the model was stopped in the middle of it
}

// RunStarted is the data of a run.started event.
type RunStarted struct {
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	RetryOf string `json:"retry_of,omitempty"`
	// what the start supplied; its state follows in a state.delta event
	Tools   []supplied.Tool `json:"client_tools,omitempty"`
	Context []supplied.Item `json:"context,omitempty"`
}

// Withdrawn is the data of a decision.withdrawn event.
type Withdrawn struct {
	CallID      string            `json:"call_id"`
	Suspension  string            `json:"suspension"`
	DecisionID  string            `json:"decision_id"`
	Digest      string            `json:"digest,omitempty"`
	Action      core.ResumeAction `json:"action"`
	Reason      string            `json:"reason,omitempty"`
	By          string            `json:"by,omitempty"`
	Via         string            `json:"via,omitempty"`
	Link        string            `json:"link,omitempty"`
	MintedBy    string            `json:"minted_by,omitempty"`
	Verified    string            `json:"verified,omitempty"`
	DecidedAt   int64             `json:"decided_at"`
	WithdrawnAt int64             `json:"withdrawn_at"`
}
