package client

// A call of another agent starts a child: a run on a conversation of its own. The run of the call,
// its parent, waits for the child's end.

// PathStep is a run on the way down from a run to one below it.
type PathStep struct {
	// The run.
	RunID string `json:"run_id"`
	// The call of the run above that it works for. Empty for a run without one.
	CallID string `json:"call_id,omitempty"`
	// The agent of the run. If that is a remote one, the tool that calls it.
	Agent string `json:"agent"`
}

// Family is what a run shows of the runs before, above and below it.
type Family struct {
	// The run that this one retries. Nil if it retries none.
	RetryOf *string `json:"retry_of"`
	// What the run works for. Nil for a run that no other one has started.
	Parent *ParentRun `json:"parent,omitempty"`
	// The runs that calls of this one wait for. They are listed only where the run itself is
	// read, as by [Client.Run].
	Children []ChildRun `json:"children,omitempty"`
	// There are more runs below than are looked at (64), or one of them can't be read: Pending
	// and Usage.Total may lack something.
	PendingCut bool `json:"pending_cut,omitempty"`
	// The task of the remote agent that does the work of this run. Nil for other runs.
	Remote *RemoteTask `json:"remote,omitempty"`
}

// RemoteTask is the task that a run gives to a remote agent.
type RemoteTask struct {
	// The tool of the run's agent that calls the remote one.
	Tool string `json:"tool"`
	// The id that the remote agent gave the task. Empty until it has accepted it.
	TaskID string `json:"task_id,omitempty"`
	// The remote agent's id for the conversation of the task.
	ContextID string `json:"context_id,omitempty"`
	// Where requests about the task go.
	URL string `json:"url,omitempty"`
	// When the remote agent is asked about the task next, or asked to stop again. Nil while a
	// request is in progress, and once the task has ended.
	NextLookAt *Time `json:"next_look_at,omitempty"`
	// Since when the remote agent has not answered. Nil if it has.
	UnansweredSince *Time `json:"unanswered_since,omitempty"`
	// How many attempts to stop the task were not confirmed. A run that has ended stays
	// "running" until the remote agent confirms, for about a day at most.
	StopAttempts int `json:"stop_attempts,omitempty"`
}

// ParentRun is the call that a run works for.
type ParentRun struct {
	// The run of the call.
	RunID string `json:"run_id"`
	// The conversation of that run.
	ThreadID string `json:"thread_id"`
	// The call.
	CallID string `json:"call_id"`
}

// ChildRun is a run that a call waits for.
type ChildRun struct {
	// The run.
	RunID string `json:"run_id"`
	// Its conversation. It takes no messages.
	ThreadID string `json:"thread_id"`
	// The agent of the run. If that is a remote one, the tool that calls it.
	Agent string `json:"agent"`
	// The call that waits for it.
	CallID string `json:"call_id"`
	// Its status, such as [StatusRunning]. A run about to be started is "created".
	Status string `json:"status"`
}

// TreeUsage is what a run and the runs below it have used.
type TreeUsage struct {
	// How many runs these are.
	Runs int `json:"runs"`
	// Tokens sent to models.
	InputTokens int64 `json:"input_tokens"`
	// Tokens that models generated.
	OutputTokens int64 `json:"output_tokens"`
	// What the model calls have cost. Nil if that isn't known of one of the runs.
	Cost *Cost `json:"cost,omitempty"`
}
