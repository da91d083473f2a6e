package core

import (
	"encoding/json"
)

// Role says whose message it is.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	// the runtime's own notices to the model; not shown as part of the conversation
	RoleSystem Role = "system"
	// what the client of a run supplied for the model: in prompts, and never in the journal
	RoleContext Role = "context"
)

// ToolCall is one call as the model asked for it. Arguments are in the canonical form of
// strict.Arguments, every digit as the model wrote it; of text that was refused the beginning is
// kept, as a JSON string.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Message is one entry of the conversation, never changed once committed.
type Message struct {
	Role  Role       `json:"role"`
	Parts []Part     `json:"parts,omitempty"`
	Calls []ToolCall `json:"tool_calls,omitempty"`

	CallID string `json:"call_id,omitempty"` // of a tool message: the call it answers
	Tool   string `json:"tool,omitempty"`
	Error  bool   `json:"error,omitempty"` // the result tells of a failure
	// a placeholder for a result; left out of the model's view once the result follows
	Pending bool `json:"pending,omitempty"`

	// of a result: see [Message.CallOutcome]
	Outcome CallOutcome `json:"outcome,omitempty"`
	// of a result: its text is the JSON of its value
	JSON bool `json:"j,omitempty"`
	// of a result: its value, where the text is not its JSON
	Value json.RawMessage `json:"value,omitempty"`
	// of a result: the edited arguments that the tool ran with
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	// of a result: what hooks added for the model
	Added string `json:"added,omitempty"`

	// of an assistant message: a cancel stopped the model in the middle of it
	Cut bool `json:"cut,omitempty"`

	// of a user message: the id that its sender gave it
	ID  string `json:"id,omitempty"`
	By  string `json:"by,omitempty"`  // of a user message: the principal who sent it
	Via string `json:"via,omitempty"` // and the entry point it came through
	// of a user message: the call whose result its text is; the model sees it there
	Answers string `json:"answers,omitempty"`
	// of a user message: the segment of the one before it, if that is another; 0: it is the
	// first of its thread
	Earlier int64 `json:"earlier,omitempty"`

	RunID string `json:"run_id"`
	At    int64  `json:"at"`
}

// EventType names what happened. The strings are a contract with readers.
type EventType string

const (
	EventTurnStarted    EventType = "turn.started"
	EventTurnEnded      EventType = "turn.ended"
	EventStepStarted    EventType = "step.started"
	EventStepEnded      EventType = "step.ended"
	EventTextEnded      EventType = "text.ended"
	EventReasoningEnded EventType = "reasoning.ended"
	EventCallReady      EventType = "call.ready"
	EventCallInvalid    EventType = "call.invalid"
	EventCallStarted    EventType = "call.started"
	EventCallSuspended  EventType = "call.suspended"
	// moments of a call that waits: its people are reminded, another group is asked, its
	// deadline is near
	EventCallReminded     EventType = "call.reminded"
	EventCallEscalated    EventType = "call.escalated"
	EventCallDeadlineNear EventType = "call.deadline_near"
	// a client's result was refused; the call still waits
	EventCallInvalidAnswer EventType = "call.invalid_answer"
	EventDecisionRefused   EventType = "decision.refused"
	EventDecisionWithdrawn EventType = "decision.withdrawn"
	EventCallResuming      EventType = "call.resuming"
	EventCallSucceeded     EventType = "call.succeeded"
	EventCallFailed        EventType = "call.failed"
	EventCallCancelled     EventType = "call.cancelled"
	// a call of an agent: its run is about to be started, and has ended
	EventChildStarted     EventType = "child.started"
	EventChildEnded       EventType = "child.ended"
	EventRemoteStarted    EventType = "remote.started"
	EventRemoteEnded      EventType = "remote.ended"
	EventDecisionRecorded EventType = "decision.recorded"
	EventActivationEnded  EventType = "activation.ended"
	EventStepReset        EventType = "step.reset"
	EventStateDelta       EventType = "state.delta"
	EventStateSnapshot    EventType = "state.snapshot"
	EventHookFailed       EventType = "hook.failed"
	EventMemoryFailed     EventType = "memory.failed"
	EventMessageQueued    EventType = "message.queued"
	EventMessageReceived  EventType = "message.received"
	EventRunStarted       EventType = "run.started"
	// EventInterruptRecorded and EventCancelRecorded say who asked for it. An interrupt that is
	// not applied changed nothing: the run was paused already, or ended with it. One that is
	// suspends the run's own call.
	EventInterruptRecorded EventType = "interrupt.recorded"
	// EventContinueRecorded says that the run above goes on after its interrupt.
	EventContinueRecorded EventType = "continue.recorded"
	EventCancelRecorded   EventType = "cancel.recorded"
	// EventRunEnded says that and why the run ended, before its subscribers are notified. It is
	// there only if an endpoint subscribed to the ends of runs; run.status follows.
	EventRunEnded  EventType = "run.ended"
	EventRunStatus EventType = "run.status"

	// Live events: readers are sent them while the model speaks, and the journal never holds
	// one.
	EventTextDelta      EventType = "text.delta"
	EventReasoningDelta EventType = "reasoning.delta"
	EventCallProgress   EventType = "call.progress" // a tool says how far it is
)

// Event is one thing that happened, numbered without gaps per thread.
type Event struct {
	Seq      int64           `json:"seq"`
	RunID    string          `json:"run_id"`
	ThreadID string          `json:"thread_id"`
	Turn     int             `json:"turn"`
	Step     int             `json:"step,omitempty"`
	At       int64           `json:"at"`
	Type     EventType       `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`

	// Message points at the message of the same segment (counted from 1) whose content belongs
	// to this event. It is stored once and joined by [Segment.Expand].
	Message int `json:"m,omitempty"`
}

// Segment is what one commit added. Segments of a thread are numbered from 1 without gaps; Prev is
// the stamp of the one before, so that a reader notices a segment that was never named by the head.
type Segment struct {
	Seq      int64     `json:"seq"`
	W        Stamp     `json:"w"`
	Prev     Stamp     `json:"prev"`
	Messages []Message `json:"messages,omitempty"`
	Events   []Event   `json:"events,omitempty"`
}

// Expand returns the segment's events with the content of their messages joined in.
func (s Segment) Expand() []Event {
	out := make([]Event, len(s.Events))
	for i, e := range s.Events {
		out[i] = s.expand(e)
	}
	return out
}

func (s Segment) expand(e Event) Event {
	if e.Message < 1 || e.Message > len(s.Messages) {
		return e
	}
	m := s.Messages[e.Message-1]
	id := m.MessageID(e.ThreadID, s.Seq, e.Message)
	e.Message = 0
	data := map[string]any{}
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return e
		}
	}
	data["message_id"] = id
	switch e.Type {
	case EventTextEnded, EventMessageReceived:
		data["text"] = m.Text()
	case EventReasoningEnded:
		data["text"] = ReasoningOf(m.Parts)
	case EventCallReady:
		for _, c := range m.Calls {
			if c.ID == data["call_id"] {
				data["tool_name"], data["arguments"] = c.Name, c.Arguments
			}
		}
	default:
		m.describe(data)
	}
	e.Data = Encode(data)
	return e
}
