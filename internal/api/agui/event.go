// Package agui projects runs to the events of AG-UI, the protocol between agents and user
// interfaces, and reads what its clients send. It is pure: events of a run in, events of AG-UI out.
//
// A run of AG-UI is one response, of which a run of ours may need several: one that waits for a
// person ends the response, and the answer begins another. History is restated as snapshots alone,
// since a client appends what is streamed.
package agui

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Protocol is the version of AG-UI that is spoken with clients that know versions.
const Protocol = "1.0"

// Event is one event of AG-UI. Clients refuse null for a member that is optional, so what is absent
// is left out.
type Event struct {
	Type            string          `json:"type"`
	ThreadID        string          `json:"threadId,omitempty"`
	RunID           string          `json:"runId,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	StepName        string          `json:"stepName,omitempty"`
	MessageID       string          `json:"messageId,omitempty"`
	Role            string          `json:"role,omitempty"`
	ToolCallID      string          `json:"toolCallId,omitempty"`
	ToolCallName    string          `json:"toolCallName,omitempty"`
	ParentMessageID string          `json:"parentMessageId,omitempty"`
	Delta           string          `json:"delta,omitempty"`
	Content         *string         `json:"content,omitempty"`
	Messages        *[]Message      `json:"messages,omitempty"`
	Snapshot        json.RawMessage `json:"snapshot,omitempty"`
	Name            string          `json:"name,omitempty"`
	Value           any             `json:"value,omitempty"`
	Outcome         *Outcome        `json:"outcome,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	Usage           []Usage         `json:"usage,omitempty"`
	Message         string          `json:"message,omitempty"`
	Code            string          `json:"code,omitempty"`
	Metadata        *Metadata       `json:"metadata,omitempty"`
}

// The types of events.
const (
	RunStarted       = "RUN_STARTED"
	RunFinished      = "RUN_FINISHED"
	RunError         = "RUN_ERROR"
	StepStarted      = "STEP_STARTED"
	StepFinished     = "STEP_FINISHED"
	TextStart        = "TEXT_MESSAGE_START"
	TextContent      = "TEXT_MESSAGE_CONTENT"
	TextEnd          = "TEXT_MESSAGE_END"
	ReasoningStart   = "REASONING_START"
	ReasoningBegin   = "REASONING_MESSAGE_START"
	ReasoningContent = "REASONING_MESSAGE_CONTENT"
	ReasoningFinish  = "REASONING_MESSAGE_END"
	ReasoningEnd     = "REASONING_END"
	CallStart        = "TOOL_CALL_START"
	CallArguments    = "TOOL_CALL_ARGS"
	CallEnd          = "TOOL_CALL_END"
	CallResult       = "TOOL_CALL_RESULT"
	StateSnapshot    = "STATE_SNAPSHOT"
	MessagesSnapshot = "MESSAGES_SNAPSHOT"
	Custom           = "CUSTOM"
)

// ProgressName is the name of the [Custom] event that says how far a tool is.
const ProgressName = "dormouse.progress"

// Outcome is how a response ends, if not with [RunError].
type Outcome struct {
	Type             string      `json:"type"` // OutcomeSuccess and so on
	Interrupts       []Interrupt `json:"interrupts,omitempty"`
	PendingToolCalls []string    `json:"pendingToolCallIds,omitempty"`
}

// The types of outcomes. Only clients of version 1.0 and later know the last.
const (
	OutcomeSuccess   = "success"
	OutcomeInterrupt = "interrupt"
	OutcomeCancelled = "cancelled"
)

// Interrupt is a question to the user. Its id is that of the suspension.
type Interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	Metadata       *Metadata       `json:"metadata,omitempty"`
}

// Usage is what the model calls of a response have used.
type Usage struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	TotalTokens  int64 `json:"totalTokens"`
	CachedInput  int64 `json:"cachedInputTokens,omitempty"`
	CacheWrite   int64 `json:"cacheWriteInputTokens,omitempty"`
}

// Message is a message as a client holds it.
type Message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	Metadata   *Metadata  `json:"metadata,omitempty"`

	sent []wire.Part // the content, if it is more than text
}

// MarshalJSON writes a content of parts in place of the text.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	if m.sent == nil {
		return core.EncodeAny(plain(m))
	}
	return core.EncodeAny(struct {
		plain
		Content []inputPart `json:"content"`
	}{plain(m), inputParts(m.sent)})
}

// ToolCall is a call in the message that requested it.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // always "function"
	Function Function `json:"function"`
}

// Function is the tool of a call. Arguments is JSON, as text.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleReasoning = "reasoning"
	roleTool      = "tool"
)

// Metadata is what AG-UI has no member for. Clients keep it beside what it describes.
type Metadata struct {
	Dormouse Details `json:"dormouse"`
}

// Details are what is known beyond the members of AG-UI. Each place has some of them.
type Details struct {
	RunID         string          `json:"run_id,omitempty"`
	ThreadID      string          `json:"thread_id,omitempty"`
	Reason        string          `json:"reason,omitempty"` // why the run ended
	Code          string          `json:"code,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	ResponseState string          `json:"response_state,omitempty"`
	Outcome       string          `json:"outcome,omitempty"`  // how a call ended
	RanWith       json.RawMessage `json:"ran_with,omitempty"` // arguments that a person edited
	WaitsFor      string          `json:"waits_for,omitempty"`
	Kind          string          `json:"kind,omitempty"` // of a question
	ToolName      string          `json:"tool_name,omitempty"`
	Agent         string          `json:"agent,omitempty"` // that asks, if it is one below
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	Preview       string          `json:"preview,omitempty"`
}

// Progress is the value of a [Custom] event named [ProgressName].
type Progress struct {
	ToolCallID string   `json:"toolCallId"`
	Done       float64  `json:"done"`
	Total      *float64 `json:"total,omitempty"`
	Text       string   `json:"text,omitempty"`
}

// Failed is the event that ends a response which the server can't finish.
func Failed(code, message string) Event {
	return Event{Type: RunError, Code: code, Message: message}
}

// argumentsText is a call's arguments as the protocol has them.
func argumentsText(arguments json.RawMessage) string {
	if core.IsNull(arguments) {
		return "{}"
	}
	return string(arguments)
}
