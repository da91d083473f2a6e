package client

import "encoding/json"

// RunStatusData is the data of run.status.
type RunStatusData struct {
	// The run.
	ID string `json:"id"`
	// The new status.
	Status string `json:"status"`
	// Why the run ended. Nil until it is done.
	DoneReason *string `json:"done_reason"`
	// When the status changed.
	UpdatedAt Time `json:"updated_at"`
}

// RunEndedData is the data of run.ended.
type RunEndedData struct {
	// Why the run ended.
	Reason string `json:"reason"`
	// The reason in detail, for programs.
	Code string `json:"code,omitempty"`
	// The reason in detail, for people.
	Detail string `json:"detail,omitempty"`
	// Who cancelled the run.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
}

// TurnStartedData is the data of turn.started.
type TurnStartedData struct {
	// What started the turn. "input": the input of the run; "retry": the run retries an earlier
	// one, without new input; "message": a user message; "decision": a decision, or a refused
	// answer that the journal records; "deadline": a deadline passed without an answer;
	// "interrupt": a caller interrupted the run; "cancel": a caller cancelled the suspended
	// run; "error": the run can't continue and ends.
	Cause string `json:"cause"`
}

// MessageReceivedData is the data of message.received.
type MessageReceivedData struct {
	// The message, unique in its thread.
	MessageID string `json:"message_id"`
	// The text.
	Text string `json:"text"`
	// All content parts, in order, without bytes. Empty if the message is only text.
	Parts []Part `json:"parts,omitempty"`
	// The principal, such as "token:anna". Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
	// The call whose result the text became.
	Answers string `json:"answers,omitempty"`
}

// MessageQueuedData is the data of message.queued.
type MessageQueuedData struct {
	// Identifies the message in the queue.
	Key string `json:"key"`
	// The sender's id for the message.
	MessageID string `json:"message_id,omitempty"`
	// The content, without the bytes of images and documents.
	Parts []Part `json:"parts"`
	// The principal, such as "token:anna". Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
}

// StepStartedData is the data of step.started.
type StepStartedData struct {
	// When the model was called.
	AskedAt *Time `json:"asked_at,omitempty"`
	// Milliseconds until the answer was complete.
	LatencyMS *int64 `json:"latency_ms,omitempty"`
	// Milliseconds until the first token. Nil if the answer wasn't streamed.
	FirstTokenMS *int64 `json:"first_token_ms,omitempty"`
	// The tokens of the call. Empty if the provider didn't report them; omitted if the model
	// doesn't count tokens.
	Usage json.RawMessage `json:"usage,omitempty"`
	// What the call cost. Nil if that isn't known.
	Cost *Cost `json:"cost,omitempty"`
}

// StepUsage is what one step used.
type StepUsage struct {
	// All input tokens, cached or not.
	InputTokens int64 `json:"input_tokens"`
	// All output tokens.
	OutputTokens int64 `json:"output_tokens"`
	// Input tokens read from the provider's cache.
	CacheReadTokens int64 `json:"cache_read_tokens,omitempty"`
	// Input tokens written to the provider's cache.
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
}

// DeltaData is the data of text.delta and reasoning.delta.
type DeltaData struct {
	// The part that the text belongs to, unique in the thread.
	PartID string `json:"part_id"`
	// The model attempt that produced the text. "step.reset" separates two attempts.
	Attempt string `json:"attempt"`
	// The position of Text in the part, in bytes of UTF-8.
	Offset int `json:"offset"`
	// The next piece, in whole characters.
	Text string `json:"text"`
}

// SaidData is the data of text.ended and reasoning.ended.
type SaidData struct {
	// The PartID of its deltas.
	PartID string `json:"part_id"`
	// The message, unique in its thread.
	MessageID string `json:"message_id"`
	// The complete text.
	Text string `json:"text"`
	// A cancel interrupted the model.
	Cut bool `json:"cut,omitempty"`
}

// CallReadyData is the data of call.ready.
type CallReadyData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name"`
	// The model's arguments. Arguments that aren't valid JSON are a string.
	Arguments json.RawMessage `json:"arguments"`
	// The client runs the tool, once the call waits for its result.
	Client bool `json:"client,omitempty"`
	// The assistant message that requested the call.
	MessageID string `json:"message_id"`
}

// CallInvalidData is the data of call.invalid.
type CallInvalidData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name"`
	// What is wrong with the arguments.
	Detail string `json:"detail"`
}

// CallStartedData is the data of call.started.
type CallStartedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name"`
	// Always "running".
	Status string `json:"status"`
	// The arguments that run, if an approver edited them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// When the execution started. Nil if it starts after this event is committed.
	StartedAt *Time `json:"started_at,omitempty"`
	// When the status changed.
	UpdatedAt Time `json:"updated_at"`
	// The event is not stored.
	Live bool `json:"live,omitempty"`
}

// CallProgressData is the data of call.progress.
type CallProgressData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name"`
	// How much is done.
	Done float64 `json:"done"`
	// The total amount, if known.
	Total *float64 `json:"total,omitempty"`
	// What the tool is doing. Untrusted.
	Text string `json:"text,omitempty"`
}

// CallResumingData is the data of call.resuming.
type CallResumingData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool. Empty if the run itself waited.
	ToolName string `json:"tool_name,omitempty"`
	// Always "resuming".
	Status string `json:"status"`
	// When the status changed.
	UpdatedAt Time `json:"updated_at"`
}

// CallEndedData is the data of call.succeeded, call.failed and call.cancelled. Result is what the
// model reads, and may be empty; the run's own waits have no message and no result.
type CallEndedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool. Empty if the run itself waited.
	ToolName string `json:"tool_name,omitempty"`
	// The same status as in the event type.
	Status string `json:"status"`
	// How the call ended.
	Outcome string `json:"outcome"`
	// The result as text.
	Result *string `json:"result,omitempty"`
	// The result as JSON. Empty if it is plain text or was truncated.
	Value json.RawMessage `json:"value,omitempty"`
	// The edited arguments the call ran with. The model sees them.
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	// What hooks appended to the result for the model.
	Added string `json:"added,omitempty"`
	// The message with the result.
	MessageID string `json:"message_id,omitempty"`
	// When the execution that settled the call started. Nil if no execution settled it: a rule,
	// a person, a client or the end of the run did.
	StartedAt *Time `json:"started_at,omitempty"`
	// When the execution, or the wait, ended.
	EndedAt Time `json:"ended_at"`
	// How many executions of the call have started, including those that suspended the call and
	// those a crashed worker may have started.
	Attempts int `json:"attempts,omitempty"`
	// The call was cancelled while it ran, or while it was unknown whether it had run. It may
	// have taken effect.
	MayHaveRun bool `json:"may_have_run,omitempty"`
	// The suspension that ended with the call, if no decision ended it: the run ended first, or
	// a message came instead of an answer. Subscribers to "decided" are notified.
	Suspension string `json:"suspension,omitempty"`
	// When the status changed.
	UpdatedAt Time `json:"updated_at"`
}

// CallInvalidAnswerData is the data of call.invalid_answer.
type CallInvalidAnswerData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The suspension. It still waits.
	Suspension string `json:"suspension"`
	// What is wrong with the result.
	Detail string `json:"detail"`
	// The principal, such as "token:anna". Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
}

// DecisionRecordedData is the data of decision.recorded.
type DecisionRecordedData struct {
	// The call that was answered.
	CallID string `json:"call_id"`
	// The suspension that was answered.
	Suspension string `json:"suspension"`
	// The key of the decision. The votes of two people can have the same one.
	DecisionID string `json:"decision_id"`
	// SHA-256 of the decision's content, in hex. Empty if a message or the deadline decided.
	Digest string `json:"digest,omitempty"`
	// The action of the decision.
	Action string `json:"action"`
	// The result of the decision.
	Result json.RawMessage `json:"result,omitempty"`
	// The error of the decision.
	Error string `json:"error,omitempty"`
	// The reason of the decision.
	Reason string `json:"reason,omitempty"`
	// The edited arguments.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// SHA-256 of the canonical JSON of the arguments that the decision was about, in hex.
	ArgumentsDigest string `json:"arguments_digest,omitempty"`
	// The same for the edited arguments.
	EditedArgumentsDigest string `json:"edited_arguments_digest,omitempty"`
	// The grant of the decision.
	Grant string `json:"grant,omitempty"`
	// The principal, such as "token:anna". Empty if callers have no names. With via: link it is
	// "link:" and the recipient; with via: deadline it is "deadline".
	By string `json:"by,omitempty"`
	// The entry point: "api", Link, "message" or "deadline".
	Via string `json:"via,omitempty"`
	// The id of the approval link that was used.
	Link string `json:"link,omitempty"`
	// Who created that link.
	MintedBy string `json:"minted_by,omitempty"`
	// How the recipient of that link was verified: "code", by a one-time code sent to the mail
	// address. Empty if the link was enough.
	Verified string `json:"verified,omitempty"`
	// The fingerprint of the question that the approver saw, if the caller sent it.
	Shown string `json:"shown,omitempty"`
	// The program that showed the question: "page/1" for the page of a link, "api", or the name
	// the client gave.
	ShownBy string `json:"shown_by,omitempty"`
	// Whether the decision took effect. False for a vote that left the question open.
	Applied bool `json:"applied"`
	// If several people decide about the call: what this vote came to.
	Vote *Ballot `json:"vote,omitempty"`
	// The deadline passed without an answer and settled the call.
	TimedOut bool `json:"timed_out,omitempty"`
	// With timed_out: the policy approves a call that no one has answered.
	Silent bool `json:"silent,omitempty"`
	// The decision arrived after the deadline and has no effect.
	Late bool `json:"late,omitempty"`
	// When the decision was sent.
	UpdatedAt Time `json:"updated_at"`
}

// StateDeltaData is the data of state.delta.
type StateDeltaData struct {
	// The changes, in order.
	Ops []StateOp `json:"ops"`
}

// StateOp is one change of the state.
type StateOp struct {
	// The scope of the entry. Omitted: the run.
	Scope string `json:"scope,omitempty"`
	// The key of the entry.
	Key string `json:"key"`
	// The operation.
	Op string `json:"op"`
	// The value that is set, added or inserted.
	Value json.RawMessage `json:"value,omitempty"`
}

// StateSnapshotData is the data of state.snapshot.
type StateSnapshotData struct {
	// The state of the run.
	Run map[string]json.RawMessage `json:"run"`
	// The state of the conversation, shared by all its runs.
	Thread map[string]json.RawMessage `json:"thread"`
}

// StepResetData is the data of step.reset.
type StepResetData struct {
	// "repeated": the model is called again. "cancelled": the run was cancelled.
	// "model_unavailable": the model call failed and is retried at TryAt. "yielded": the run
	// made way for a newer one.
	Reason string `json:"reason"`
	// What happened, for people.
	Text string `json:"text"`
	// With "model_unavailable": the cause.
	Code string `json:"code,omitempty"`
	// The number of consecutive failed attempts.
	Try int `json:"try,omitempty"`
	// When the model is called again.
	TryAt *Time `json:"try_at,omitempty"`
}

// FailureData is the data of hook.failed and memory.failed.
type FailureData struct {
	// What went wrong.
	Detail string `json:"detail"`
}

// RequestRecordedData is the data of interrupt.recorded and cancel.recorded.
type RequestRecordedData struct {
	// The key of the request. A cancel has none.
	ID string `json:"id,omitempty"`
	// The principal, such as "token:anna". Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
	// Whether the request changed anything.
	Applied bool `json:"applied"`
}

// TurnEndedData is the data of turn.ended.
type TurnEndedData struct {
	// Whether the run is done or suspended.
	Status string `json:"status"`
	// Why the run ended.
	Reason string `json:"reason,omitempty"`
	// The reason in detail, for programs.
	Code string `json:"code,omitempty"`
	// The reason in detail, for people.
	Detail string `json:"detail,omitempty"`
	// Who cancelled the run.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
	// How the agent describes the end of the run.
	ResponseState string `json:"response_state,omitempty"`
	// The run's output: the value passed to "finish", or the final text. Empty if it has none;
	// omitted if the run is suspended.
	Output json.RawMessage `json:"output,omitempty"`
	// The tokens the run has used so far.
	Usage Usage `json:"usage"`
	// The suspended calls, as they were when the run was suspended.
	Pending []Pending `json:"pending,omitempty"`
}

// ActivationEndedData is the data of activation.ended.
type ActivationEndedData struct {
	// The number of this activation of the run.
	Activation int `json:"activation"`
	// How the activation ended. "step_done", "suspended_step_partial" and
	// "waiting_for_remote" are followed by another activation.
	Outcome string `json:"outcome"`
	// The last step of the run.
	Step int `json:"step"`
}
