// Package peer knows agents that run elsewhere. A run whose work is done by one is the child of a
// call, and has no model and no tools. It sends one task, looks at it until it has ended, and stops
// it if no one waits for it any more.
//
//	check ── intent ── Send ── Look … Look ── ended ── the result goes to the parent
//	                             └─ given up: Stop … Stop ── confirmed
package peer

import "encoding/json"

// Work is what a run knows of the agent that does its work. It is in the run's head.
type Work struct {
	// of the definition that the run is pinned to
	Tool string `json:"t"`
	// the task is not sent again unless it is certain that it never arrived
	Once  bool  `json:"o,omitempty"`
	Until int64 `json:"u,omitempty"` // when the call that waits stops waiting; 0: never
	// opens the address where the agent says that there is news
	Token string `json:"k,omitempty"`
	// the epoch of the owner that was the first to send the task; 0: nothing was sent
	Sent int64 `json:"s,omitempty"`
	Task
	Looks  int   `json:"n,omitempty"` // since the task was sent
	Silent int64 `json:"x,omitempty"` // since when the agent has not answered; 0: it has
	Over   bool  `json:"z,omitempty"` // the agent does not work on it, and will not
	// attempts to stop the task that were not confirmed
	Stops int `json:"y,omitempty"`
}

// Task is where a task is. The zero value is one that was not acknowledged.
type Task struct {
	ID       string `json:"id,omitempty"`
	Context  string `json:"c,omitempty"`
	Endpoint string `json:"e,omitempty"` // where the agent is spoken to, if it named one
	Pushes   bool   `json:"p,omitempty"` // the agent says when there is news
}

// State is how far an agent is with a task.
type State uint8

const (
	Working State = iota
	Done
	Failed  // it did not do the task, or it will not: see [Report.Code]
	Unclear // no answer came, it may have begun, and that can't be found out
)

// Report is what an agent answers about a task.
type Report struct {
	State State
	Task  Task            // as it is known now; of [Working], with its id
	Text  string          // of [Done]: the result
	Value json.RawMessage // the result as JSON; nil if it is plain text
	// of [Failed]: one of the codes below, and a sentence. Of [Working], Detail is what the
	// agent says it does.
	Code, Detail string
	// of [Failed]: the task is not over, and must be stopped: it waits for what it won't get
	Open bool
}

// The codes of runs whose agent did not succeed.
const (
	CodeNotFound = "remote_not_found" // it does not know the task, or there is no agent
	CodeRefused  = "remote_refused"   // it does not accept the task, or this caller
	// it has not answered for as long as the call may wait
	CodeUnreachable = "remote_unreachable"
	CodeFailed      = "remote_failed"    // it says that the task failed
	CodeCancelled   = "remote_cancelled" // the task was cancelled there
	// it asks for input, or for credentials, that it won't get
	CodeAsks = "remote_asks"
	// its answer is too large, or is not what the protocol says
	CodeBadAnswer = "remote_bad_answer"
	// it is not known whether it has begun, and it must not begin twice
	CodeUnclear = "remote_may_have_run"
)
