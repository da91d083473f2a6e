package client

import "encoding/json"

// RemoteStartedData is the data of remote.started: a remote agent has accepted the run's task.
type RemoteStartedData struct {
	// The id that the agent gave the task.
	TaskID string `json:"task_id"`
	// The agent's id for the conversation that the task belongs to.
	ContextID string `json:"context_id,omitempty"`
	// Where requests about the task go.
	URL string `json:"url,omitempty"`
	// Whether the agent sends a notification when there is news of the task. Otherwise the run
	// only polls.
	Pushes bool `json:"pushes"`
	// Whether the agent already had the task: its first acknowledgement was lost.
	Again bool `json:"again"`
}

// RemoteEndedData is the data of remote.ended: as far as is known, the remote agent no longer works
// on the run's task.
type RemoteEndedData struct {
	// The task. Empty if the agent never acknowledged one.
	TaskID string `json:"task_id,omitempty"`
	// "succeeded"; "failed"; "stopped" if no one waited for the task any more and the agent
	// confirmed that it doesn't work on it; "unconfirmed" if it didn't confirm that.
	Outcome string `json:"outcome"`
	// The reason of "failed", such as "remote_refused".
	Code string `json:"code,omitempty"`
	// What happened, in words. Untrusted.
	Detail string `json:"detail,omitempty"`
	// How many attempts to stop the task were not confirmed.
	Attempts int `json:"attempts,omitempty"`
	// The assistant message that holds the result of "succeeded".
	MessageID string `json:"message_id,omitempty"`
	// The result of "succeeded". Untrusted.
	Result string `json:"result,omitempty"`
	// The result of "succeeded" if it is JSON. Untrusted.
	Value json.RawMessage `json:"value,omitempty"`
}
