package client

// A call of another agent starts a child: a run on a conversation of its own. The run of the call,
// its parent, waits for the child's end.

// PathStep is a run on the way down from a run to one below it.
type PathStep struct {
	// The run.
	RunID string `json:"run_id"`
	// The call of the run above that it works for. Empty for a run that no other one has
	// started.
	CallID string `json:"call_id,omitempty"`
	// The agent of the run.
	Agent string `json:"agent"`
}
