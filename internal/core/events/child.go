package events

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// ChildStarted is the data of a child.started event: a call of an agent waits, and the run that
// works for it is about to be started.
type ChildStarted struct {
	CallID     string `json:"call_id"`
	ToolName   string `json:"tool_name"`
	Suspension string `json:"suspension"`
	Agent      string `json:"agent"`
	Version    string `json:"agent_version"`
	RunID      string `json:"child_run_id"`
	ThreadID   string `json:"child_thread_id"`
	// the agent runs elsewhere: Agent is the tool that says where, Version that of the caller
	Remote bool `json:"remote,omitempty"`
}

// ChildEnded is the data of a child.ended event. The result of the call follows in an event of its
// own, unless Applied is false: then the call did not wait any more.
type ChildEnded struct {
	CallID     string           `json:"call_id"`
	Suspension string           `json:"suspension"`
	RunID      string           `json:"child_run_id"`
	Outcome    core.CallOutcome `json:"outcome"`
	Code       string           `json:"code,omitempty"` // the child's own
	Detail     string           `json:"detail,omitempty"`
	Applied    bool             `json:"applied"`
	Usage      TreeUsage        `json:"usage"` // of the child and the runs below it
}

// TreeUsage is what a run and the runs below it have used. Cost is absent if it is not known.
type TreeUsage struct {
	Runs   int        `json:"runs"`
	Input  int64      `json:"input_tokens"`
	Output int64      `json:"output_tokens"`
	Cost   *core.Cost `json:"cost,omitempty"`
}

// TreeUsageOf is the usage as events tell it.
func TreeUsageOf(u core.TreeUsage) TreeUsage {
	out := TreeUsage{Runs: u.Runs, Input: u.InputTokens, Output: u.OutputTokens}
	if !u.Unpriced {
		out.Cost = &core.Cost{USD: core.USD(u.Cost)}
	}
	return out
}
