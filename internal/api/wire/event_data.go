package wire

import "encoding/json"

// EventData makes, for each type of event, an empty value that its data decodes into; nil for a
// type without data. It holds all types.
var EventData = map[string]func() any{
	"run.status":          func() any { return new(RunStatusData) },
	"run.started":         func() any { return new(RunStartedData) },
	"turn.started":        func() any { return new(TurnStartedData) },
	"message.received":    func() any { return new(MessageReceivedData) },
	"message.queued":      func() any { return new(MessageQueuedData) },
	"step.started":        func() any { return new(StepStartedData) },
	"text.delta":          func() any { return new(DeltaData) },
	"reasoning.delta":     func() any { return new(DeltaData) },
	"text.ended":          func() any { return new(SaidData) },
	"reasoning.ended":     func() any { return new(SaidData) },
	"call.ready":          func() any { return new(CallReadyData) },
	"call.invalid":        func() any { return new(CallInvalidData) },
	"call.started":        func() any { return new(CallStartedData) },
	"call.progress":       func() any { return new(CallProgressData) },
	"call.suspended":      func() any { return new(Pending) },
	"call.invalid_answer": func() any { return new(CallInvalidAnswerData) },
	"decision.recorded":   func() any { return new(DecisionRecordedData) },
	"call.resuming":       func() any { return new(CallResumingData) },
	"call.succeeded":      func() any { return new(CallEndedData) },
	"call.failed":         func() any { return new(CallEndedData) },
	"call.cancelled":      func() any { return new(CallEndedData) },
	"state.delta":         func() any { return new(StateDeltaData) },
	"state.snapshot":      func() any { return new(StateSnapshotData) },
	"step.reset":          func() any { return new(StepResetData) },
	"step.ended":          nil,
	"hook.failed":         func() any { return new(FailureData) },
	"memory.failed":       func() any { return new(FailureData) },
	"interrupt.recorded":  func() any { return new(RequestRecordedData) },
	"cancel.recorded":     func() any { return new(RequestRecordedData) },
	"turn.ended":          func() any { return new(TurnEndedData) },
	"activation.ended":    func() any { return new(ActivationEndedData) },
}

// RunStatusData is the data of run.status.
type RunStatusData struct {
	ID         string  `json:"id"`
	Status     string  `json:"status"`
	DoneReason *string `json:"done_reason"`
	UpdatedAt  Time    `json:"updated_at"`
}

// RunStartedData is the data of run.started.
type RunStartedData struct {
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	RetryOf string `json:"retry_of,omitempty"`
}

// TurnStartedData is the data of turn.started.
type TurnStartedData struct {
	Cause string `json:"cause"`
}

// MessageReceivedData is the data of message.received.
type MessageReceivedData struct {
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
	By        string `json:"by,omitempty"`
	Via       string `json:"via,omitempty"`
	Answers   string `json:"answers,omitempty"`
}

// MessageQueuedData is the data of message.queued.
type MessageQueuedData struct {
	Key       string `json:"key"`
	MessageID string `json:"message_id,omitempty"`
	Parts     []Part `json:"parts"`
	By        string `json:"by,omitempty"`
	Via       string `json:"via,omitempty"`
}

// StepStartedData is the data of step.started.
type StepStartedData struct {
	AskedAt      *Time           `json:"asked_at,omitempty"`
	LatencyMS    *int64          `json:"latency_ms,omitempty"`
	FirstTokenMS *int64          `json:"first_token_ms,omitempty"`
	Usage        json.RawMessage `json:"usage,omitempty"`
}

// StepUsage is what one step used.
type StepUsage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
}

// DeltaData is the data of text.delta and reasoning.delta.
type DeltaData struct {
	PartID  string `json:"part_id"`
	Attempt string `json:"attempt"`
	Offset  int    `json:"offset"`
	Text    string `json:"text"`
}

// SaidData is the data of text.ended and reasoning.ended.
type SaidData struct {
	PartID    string `json:"part_id"`
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
	Cut       bool   `json:"cut,omitempty"`
}

// CallReadyData is the data of call.ready.
type CallReadyData struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	MessageID string          `json:"message_id"`
}

// CallInvalidData is the data of call.invalid.
type CallInvalidData struct {
	CallID   string `json:"call_id"`
	ToolName string `json:"tool_name"`
	Detail   string `json:"detail"`
}

// CallStartedData is the data of call.started.
type CallStartedData struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Status    string          `json:"status"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	StartedAt *Time           `json:"started_at,omitempty"`
	UpdatedAt Time            `json:"updated_at"`
	Live      bool            `json:"live,omitempty"`
}

// CallProgressData is the data of call.progress.
type CallProgressData struct {
	CallID   string   `json:"call_id"`
	ToolName string   `json:"tool_name"`
	Done     float64  `json:"done"`
	Total    *float64 `json:"total,omitempty"`
	Text     string   `json:"text,omitempty"`
}

// CallResumingData is the data of call.resuming.
type CallResumingData struct {
	CallID    string `json:"call_id"`
	ToolName  string `json:"tool_name,omitempty"`
	Status    string `json:"status"`
	UpdatedAt Time   `json:"updated_at"`
}

// CallEndedData is the data of call.succeeded, call.failed and call.cancelled. Result is what the
// model reads, and may be empty; the run's own waits have no message and no result.
type CallEndedData struct {
	CallID     string          `json:"call_id"`
	ToolName   string          `json:"tool_name,omitempty"`
	Status     string          `json:"status"`
	Outcome    string          `json:"outcome"`
	Result     *string         `json:"result,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	RanWith    json.RawMessage `json:"ran_with,omitempty"`
	Added      string          `json:"added,omitempty"`
	MessageID  string          `json:"message_id,omitempty"`
	StartedAt  *Time           `json:"started_at,omitempty"`
	EndedAt    Time            `json:"ended_at"`
	Attempts   int             `json:"attempts,omitempty"`
	MayHaveRun bool            `json:"may_have_run,omitempty"`
	UpdatedAt  Time            `json:"updated_at"`
}

// CallInvalidAnswerData is the data of call.invalid_answer.
type CallInvalidAnswerData struct {
	CallID     string `json:"call_id"`
	Suspension string `json:"suspension"`
	Detail     string `json:"detail"`
	By         string `json:"by,omitempty"`
	Via        string `json:"via,omitempty"`
}

// DecisionRecordedData is the data of decision.recorded.
type DecisionRecordedData struct {
	CallID                string          `json:"call_id"`
	Suspension            string          `json:"suspension"`
	DecisionID            string          `json:"decision_id"`
	Digest                string          `json:"digest,omitempty"`
	Action                string          `json:"action"`
	Result                json.RawMessage `json:"result,omitempty"`
	Error                 string          `json:"error,omitempty"`
	Reason                string          `json:"reason,omitempty"`
	Arguments             json.RawMessage `json:"arguments,omitempty"`
	ArgumentsDigest       string          `json:"arguments_digest,omitempty"`
	EditedArgumentsDigest string          `json:"edited_arguments_digest,omitempty"`
	Grant                 string          `json:"grant,omitempty"`
	By                    string          `json:"by,omitempty"`
	Via                   string          `json:"via,omitempty"`
	Link                  string          `json:"link,omitempty"`
	MintedBy              string          `json:"minted_by,omitempty"`
	Shown                 string          `json:"shown,omitempty"`
	ShownBy               string          `json:"shown_by,omitempty"`
	Applied               bool            `json:"applied"`
	TimedOut              bool            `json:"timed_out,omitempty"`
	Late                  bool            `json:"late,omitempty"`
	UpdatedAt             Time            `json:"updated_at"`
}

// StateDeltaData is the data of state.delta.
type StateDeltaData struct {
	Ops []StateOp `json:"ops"`
}

// StateOp is one change of the state.
type StateOp struct {
	Scope string          `json:"scope,omitempty"`
	Key   string          `json:"key"`
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value,omitempty"`
}

// StateSnapshotData is the data of state.snapshot.
type StateSnapshotData struct {
	Run    map[string]json.RawMessage `json:"run"`
	Thread map[string]json.RawMessage `json:"thread"`
}

// StepResetData is the data of step.reset.
type StepResetData struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
	Code   string `json:"code,omitempty"`
	Try    int    `json:"try,omitempty"`
	TryAt  *Time  `json:"try_at,omitempty"`
}

// FailureData is the data of hook.failed and memory.failed.
type FailureData struct {
	Detail string `json:"detail"`
}

// RequestRecordedData is the data of interrupt.recorded and cancel.recorded.
type RequestRecordedData struct {
	ID      string `json:"id,omitempty"`
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	Applied bool   `json:"applied"`
}

// TurnEndedData is the data of turn.ended.
type TurnEndedData struct {
	Status        string          `json:"status"`
	Reason        string          `json:"reason,omitempty"`
	Code          string          `json:"code,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	By            string          `json:"by,omitempty"`
	Via           string          `json:"via,omitempty"`
	ResponseState string          `json:"response_state,omitempty"`
	Output        json.RawMessage `json:"output,omitempty"`
	Usage         Usage           `json:"usage"`
	Pending       []Pending       `json:"pending,omitempty"`
}

// ActivationEndedData is the data of activation.ended.
type ActivationEndedData struct {
	Activation int    `json:"activation"`
	Outcome    string `json:"outcome"`
	Step       int    `json:"step"`
}
