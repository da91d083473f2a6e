// Package aisdk projects runs to the UI message streams of the AI SDK, and reads what its clients
// send back. It is pure: events in, chunks out.
//
// The clients know a closed set of chunk types and end a stream with an error at any other, so a
// stream is written for a version: 6 by default, 5 without approvals, 7 with resets and recorded
// decisions.
package aisdk

import "encoding/json"

// Chunk is one piece of a UI message stream.
type Chunk struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId,omitempty"`
	Metadata     *Metadata       `json:"messageMetadata,omitempty"`
	ID           string          `json:"id,omitempty"`
	Delta        string          `json:"delta,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Title        string          `json:"title,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	InputDelta   string          `json:"inputTextDelta,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	Preliminary  bool            `json:"preliminary,omitempty"`
	ErrorText    string          `json:"errorText,omitempty"`
	ApprovalID   string          `json:"approvalId,omitempty"`
	Approved     *bool           `json:"approved,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	Data         any             `json:"data,omitempty"`
	Transient    bool            `json:"transient,omitempty"`
	FinishReason string          `json:"finishReason,omitempty"`
}

// Metadata is kept with the message, and says to a page which run it shows.
type Metadata struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
}

// The types of chunks. Those from Reset on exist since version 7.
const (
	Start             = "start"
	StartStep         = "start-step"
	FinishStep        = "finish-step"
	TextStart         = "text-start"
	TextDelta         = "text-delta"
	TextEnd           = "text-end"
	ReasoningStart    = "reasoning-start"
	ReasoningDelta    = "reasoning-delta"
	ReasoningEnd      = "reasoning-end"
	InputStart        = "tool-input-start"
	InputDelta        = "tool-input-delta"
	InputAvailable    = "tool-input-available"
	ApprovalRequest   = "tool-approval-request"
	OutputAvailable   = "tool-output-available"
	OutputError       = "tool-output-error"
	OutputDenied      = "tool-output-denied"
	DataInputRequest  = "data-input-request"
	DataProgress      = "data-progress"
	DataState         = "data-state"
	DataRun           = "data-run"
	Failure           = "error"
	Finish            = "finish"
	Reset             = "reset-step"
	ApprovalResponded = "tool-approval-response"
)

// RunData is the data of a [DataRun] part: how the run ended.
type RunData struct {
	RunID         string `json:"run_id"`
	Status        string `json:"status"`
	Reason        string `json:"reason,omitempty"`
	Code          string `json:"code,omitempty"`
	ResponseState string `json:"response_state,omitempty"`
}

// InputRequest is the data of a [DataInputRequest] part: a question that the protocol has no part
// for. A page shows it and answers at /v1/suspensions/{suspension}, or by a text message if kind is
// "input".
type InputRequest struct {
	Suspension     string          `json:"suspension"`
	Kind           string          `json:"kind"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ToolName       string          `json:"toolName,omitempty"`
	Agent          string          `json:"agent,omitempty"` // that asks, if it is one below
	Message        string          `json:"message,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Progress is the data of a transient [DataProgress] part.
type Progress struct {
	ToolCallID string `json:"toolCallId"`
	Done       any    `json:"done"`
	Total      any    `json:"total,omitempty"`
	Text       string `json:"text,omitempty"`
}
