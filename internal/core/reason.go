package core

import (
	"encoding/json"
	"errors"
	"strings"
)

// ReasonKind says why a run, or one activation of it, came to its end.
type ReasonKind uint8

const (
	NaturalEnd        ReasonKind = iota + 1 // the model asked for no tool
	BehaviorRequested                       // a hook asked to end
	// a stop rule fired, or the model has nothing more to say
	Stopped
	Cancelled
	Blocked // policy ended the run
	// the outcome of one activation only: the run waits. Never stored as the reason of a run
	// that is done
	Suspended
	Failed
)

// ReasonNames are the names of reasons in JSON, by kind.
var ReasonNames = []string{"", "natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "suspended", "error"}

func (k ReasonKind) String() string { return name(ReasonNames, uint8(k)) }

func (k ReasonKind) MarshalText() ([]byte, error) {
	return marshalName("reason", ReasonNames, uint8(k))
}

func (k *ReasonKind) UnmarshalText(b []byte) error { return unmarshalName("reason", ReasonNames, b, k) }

// Reason is why it ended, with the code and the detail that stopped, blocked and error carry.
type Reason struct {
	Kind   ReasonKind `json:"reason"`
	Code   string     `json:"code,omitempty"`
	Detail string     `json:"detail,omitempty"`
	By     string     `json:"by,omitempty"`  // of a cancel: the principal who asked for it
	Via    string     `json:"via,omitempty"` // and the entry point it came through
}

// UnmarshalJSON refuses a reason without a known kind.
func (r *Reason) UnmarshalJSON(raw []byte) error {
	type plain Reason
	var read plain
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	if read.Kind == 0 {
		return errors.New("core: unknown reason")
	}
	*r = Reason(read)
	return nil
}

// Codes of the reason [Blocked].
const (
	CodeBlockedByRule = "blocked_by_rule" // a permission or a hook blocked a call
	// the run waited before its first step, and the answer was no
	CodeStartDenied    = "start_denied"
	CodeStartAbandoned = "start_abandoned" // a message came instead of that answer
)

// Status is the run status a reason leads to: waiting for Suspended, done for every other.
func (r Reason) Status() RunStatus {
	if r.Kind == Suspended {
		return RunWaiting
	}
	return RunDone
}

// ParseReason reads the one-word spelling that older records use: "natural", "stopped:code",
// "blocked:detail". Anything it does not know becomes an error with that text, so that nothing that
// was stored is lost.
func ParseReason(old string) Reason {
	word, rest, _ := strings.Cut(old, ":")
	switch word {
	case "natural", "natural_end":
		return Reason{Kind: NaturalEnd}
	case "behavior_requested":
		return Reason{Kind: BehaviorRequested}
	case "cancelled":
		return Reason{Kind: Cancelled}
	case "blocked":
		return Reason{Kind: Blocked, Detail: rest}
	case "stopped":
		return Reason{Kind: Stopped, Code: rest}
	case "error":
		return Reason{Kind: Failed, Detail: rest}
	case "":
		return Reason{Kind: Failed}
	}
	return Reason{Kind: Failed, Detail: old}
}

// RunState is the part of an event that reports a change of the run's status.
type RunState struct {
	ID         string    `json:"id"`
	Status     RunStatus `json:"status"`
	DoneReason *string   `json:"done_reason"`
	UpdatedAt  int64     `json:"updated_at"`
}
