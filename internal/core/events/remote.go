package events

// RemoteStarted is the data of a remote.started event: an agent elsewhere has taken the run's task.
type RemoteStarted struct {
	Task    string `json:"task_id"`
	Context string `json:"context_id,omitempty"`
	URL     string `json:"url,omitempty"`
	Pushes  bool   `json:"pushes"` // it says when there is news
	// it had taken the task before, from a process that was lost
	Again bool `json:"again"`
}

// RemoteEnded is the data of a remote.ended event: the agent elsewhere does not work for the run
// any more, as far as is known.
type RemoteEnded struct {
	Task     string `json:"task_id,omitempty"` // absent if it never acknowledged one
	Outcome  string `json:"outcome"`
	Code     string `json:"code,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Attempts int    `json:"attempts,omitempty"` // to stop the task, that were not confirmed
}

// The outcomes of a RemoteEnded.
const (
	RemoteSucceeded = "succeeded"
	RemoteFailed    = "failed"
	// no one waited for it any more, and it has confirmed that it does not work on the task
	RemoteStopped = "stopped"
	// it has not confirmed that, and is not asked again
	RemoteUnconfirmed = "unconfirmed"
)

// RemoteOutcomes are all of them.
var RemoteOutcomes = []string{RemoteSucceeded, RemoteFailed, RemoteStopped, RemoteUnconfirmed}
