package client

// ChildStartedData is the data of child.started: a call of an agent waits, and the run that works
// for it is about to be started.
type ChildStartedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name"`
	// The suspension of the call.
	Suspension string `json:"suspension"`
	// The agent that is called. If Remote is true, the tool that calls it.
	Agent string `json:"agent"`
	// The version of it that runs. If Remote is true, the version of the calling agent.
	AgentVersion string `json:"agent_version"`
	// The run.
	ChildRunID string `json:"child_run_id"`
	// Its conversation. It takes no messages.
	ChildThreadID string `json:"child_thread_id"`
	// Whether the agent is a remote one: the run gives it a task and waits for the task's end.
	Remote bool `json:"remote,omitempty"`
}

// ChildEndedData is the data of child.ended. The call's result is in the event that follows.
type ChildEndedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The suspension of the call.
	Suspension string `json:"suspension"`
	// The run.
	ChildRunID string `json:"child_run_id"`
	// How the run ended: "succeeded", or one that begins with "child_".
	Outcome string `json:"outcome"`
	// The code of the run's error, or of what stopped it.
	Code string `json:"code,omitempty"`
	// What happened, in words.
	Detail string `json:"detail,omitempty"`
	// Whether the call still waited for the run.
	Applied bool `json:"applied"`
	// What the run and the runs below it have used.
	Usage TreeUsage `json:"usage"`
}
