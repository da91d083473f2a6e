package client

import (
	"encoding/json"
	"fmt"
)

// Event is one entry of a thread's journal. Ignore types you don't know: new ones may be added.
type Event struct {
	// The version of all event schemas. New types and new members don't change it.
	Version int `json:"v"`
	// The position in the thread, without gaps. Live events have the Seq of the last stored
	// event.
	Seq int64 `json:"seq"`
	// The run of the event.
	RunID string `json:"run_id"`
	// The conversation of the run.
	ThreadID string `json:"thread_id"`
	// The turn of the run, from 1. A turn starts with an input, a message or an answer, and
	// ends when the run is done or suspended.
	Turn int `json:"turn"`
	// The step of the run, from 1: one model answer with its calls. Zero before the first step.
	Step int `json:"step,omitempty"`
	// When the event was committed.
	At Time `json:"at"`
	// The type of the event, such as [EventCallSuspended].
	Type string `json:"type"`
	// Depends on Type; see [Event.Decode]. Empty if the type has no data.
	Data json.RawMessage `json:"data,omitempty"`
	// On the last event of a commit: what the commit made durable. "user_message": the input of
	// a run, or a later message; "assistant_turn": the model's answer; "decision_replay":
	// decisions, and the calls they resume; "tool_results": calls that ended or were suspended;
	// "run_finished": the end of a turn: the run is done or suspended.
	Checkpoint []string `json:"checkpoint,omitempty"`
	// The position after this event.
	Cursor string `json:"cursor"`
	// How the run of the event is reached from the run that was asked for. Only with
	// [EventQuery.Tree]; empty for that run's own events.
	Path []PathStep `json:"path,omitempty"`
	// On the "child.started" of a run whose events are left out of those of the tree, because
	// too many runs are open. Read that run's own events.
	Unfollowed bool `json:"unfollowed,omitempty"`
}

// EventVersion is the Version of the events that this client knows. New types and new members don't
// change it.
const EventVersion = 1 // of the shapes of all events

// EventPage is one page of events.
type EventPage struct {
	// The events.
	Items []Event `json:"items"`
	// The cursor for the next request; always set.
	Next string `json:"next"`
	// The run is done and there are no more events; if the newest are first, no earlier ones.
	Done bool `json:"done"`
	// The run is suspended and there are no more events for now.
	Waiting bool `json:"waiting"`
}

// The types of events, and what [Event.Decode] decodes their data into.
const (
	EventRunStatus         = "run.status"          // [RunStatusData]
	EventRunEnded          = "run.ended"           // [RunEndedData]
	EventRunStarted        = "run.started"         // [RunStartedData]
	EventTurnStarted       = "turn.started"        // [TurnStartedData]
	EventMessageReceived   = "message.received"    // [MessageReceivedData]
	EventMessageQueued     = "message.queued"      // [MessageQueuedData]
	EventStepStarted       = "step.started"        // [StepStartedData]
	EventTextDelta         = "text.delta"          // [DeltaData]
	EventReasoningDelta    = "reasoning.delta"     // [DeltaData]
	EventTextEnded         = "text.ended"          // [SaidData]
	EventReasoningEnded    = "reasoning.ended"     // [SaidData]
	EventCallReady         = "call.ready"          // [CallReadyData]
	EventCallInvalid       = "call.invalid"        // [CallInvalidData]
	EventCallStarted       = "call.started"        // [CallStartedData]
	EventCallProgress      = "call.progress"       // [CallProgressData]
	EventCallSuspended     = "call.suspended"      // [Pending]
	EventCallReminded      = "call.reminded"       // [CallRemindedData]
	EventCallEscalated     = "call.escalated"      // [CallRemindedData]
	EventCallDeadlineNear  = "call.deadline_near"  // [CallRemindedData]
	EventCallInvalidAnswer = "call.invalid_answer" // [CallInvalidAnswerData]
	EventDecisionRefused   = "decision.refused"    // [DecisionRefusedData]
	EventDecisionRecorded  = "decision.recorded"   // [DecisionRecordedData]
	EventDecisionWithdrawn = "decision.withdrawn"  // [DecisionWithdrawnData]
	EventCallResuming      = "call.resuming"       // [CallResumingData]
	EventCallSucceeded     = "call.succeeded"      // [CallEndedData]
	EventCallFailed        = "call.failed"         // [CallEndedData]
	EventCallCancelled     = "call.cancelled"      // [CallEndedData]
	EventStateDelta        = "state.delta"         // [StateDeltaData]
	EventStateSnapshot     = "state.snapshot"      // [StateSnapshotData]
	EventStepReset         = "step.reset"          // [StepResetData]
	EventStepEnded         = "step.ended"          // no data
	EventHookFailed        = "hook.failed"         // [FailureData]
	EventMemoryFailed      = "memory.failed"       // [FailureData]
	EventInterruptRecorded = "interrupt.recorded"  // [RequestRecordedData]
	EventContinueRecorded  = "continue.recorded"   // [RequestRecordedData]
	EventChildStarted      = "child.started"       // [ChildStartedData]
	EventChildEnded        = "child.ended"         // [ChildEndedData]
	EventRemoteStarted     = "remote.started"      // [RemoteStartedData]
	EventRemoteEnded       = "remote.ended"        // [RemoteEndedData]
	EventCancelRecorded    = "cancel.recorded"     // [RequestRecordedData]
	EventTurnEnded         = "turn.ended"          // [TurnEndedData]
	EventActivationEnded   = "activation.ended"    // [ActivationEndedData]
)

// Decode decodes the event's data into data, a pointer to the type that fits e.Type.
func (e Event) Decode(data any) error {
	if err := json.Unmarshal(e.Data, data); err != nil {
		return fmt.Errorf("client: decoding the data of event %d, %s: %w", e.Seq, e.Type, err)
	}
	return nil
}
