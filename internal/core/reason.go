package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ReasonKind says why a run, or one activation of it, came to its end.
type ReasonKind uint8

const (
	NaturalEnd        ReasonKind = iota + 1 // the model asked for no tool
	BehaviorRequested                       // a hook asked to end
	Stopped                                 // a stop rule fired, or the model has nothing more to say
	Cancelled
	Blocked   // policy ended the run
	Suspended // the outcome of one activation only: the run waits. Never stored as the reason of a run that is done
	Failed
)

var reasonNames = []string{"", "natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "suspended", "error"}

func (k ReasonKind) String() string { return name(reasonNames, uint8(k)) }
func (k ReasonKind) MarshalText() ([]byte, error) {
	return marshalName("reason", reasonNames, uint8(k))
}
func (k *ReasonKind) UnmarshalText(b []byte) error { return unmarshalName("reason", reasonNames, b, k) }

// Reason is why it ended, with the code and the detail that stopped, blocked and error carry.
type Reason struct {
	Kind   ReasonKind `json:"reason"`
	Code   string     `json:"code,omitempty"`
	Detail string     `json:"detail,omitempty"`
	By     string     `json:"by,omitempty"`  // of a cancel: the principal who asked for it
	Via    string     `json:"via,omitempty"` // and the entry point it came through
}

// UnmarshalJSON refuses what names no kind: an end that nobody can tell.
func (r *Reason) UnmarshalJSON(raw []byte) error {
	type plain Reason
	var read plain
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	if read.Kind == 0 {
		return errors.New("core: a reason that is none")
	}
	*r = Reason(read)
	return nil
}

// Codes of the reason [Blocked].
const (
	CodeBlockedByRule  = "blocked_by_rule" // a permission or a hook blocked a call
	CodeStartDenied    = "start_denied"    // the run waited before its first step, and the answer was no
	CodeStartAbandoned = "start_abandoned" // a message came instead of that answer
)

// Status is the run status a reason leads to: waiting for Suspended, done for every other.
func (r Reason) Status() RunStatus {
	if r.Kind == Suspended {
		return RunWaiting
	}
	return RunDone
}

// ParseReason reads the one-word spelling that older records use: "natural", "stopped:code", "blocked:detail". Anything
// it does not know becomes an error with that text, so that nothing that was stored is lost.
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

// RunState is the slot that a change of the run's status is told in.
type RunState struct {
	ID         string    `json:"id"`
	Status     RunStatus `json:"status"`
	DoneReason *string   `json:"done_reason"`
	UpdatedAt  int64     `json:"updated_at"`
}

// StopSpec is one declarative stop rule. Only the members of its type are set.
type StopSpec struct {
	Type     string `json:"type"`
	Rounds   int    `json:"rounds,omitempty"`
	Seconds  int    `json:"seconds,omitempty"`
	MaxTotal int    `json:"max_total,omitempty"`
	Max      int    `json:"max,omitempty"`
	ToolName string `json:"tool_name,omitempty"`
	Pattern  string `json:"pattern,omitempty"`
	Window   int    `json:"window,omitempty"`
}

// stopMembers names, for each type of stop rule, the one member it takes.
var stopMembers = map[string]string{
	"max_rounds":         "rounds",
	"timeout":            "seconds",
	"token_budget":       "max_total",
	"consecutive_errors": "max",
	"stop_on_tool":       "tool_name",
	"content_match":      "pattern",
	"loop_detection":     "window",
}

// MarshalJSON writes the type and its one member, zero values included.
func (s StopSpec) MarshalJSON() ([]byte, error) {
	member, ok := stopMembers[s.Type]
	if !ok {
		return nil, fmt.Errorf("core: %q is no stop rule", s.Type)
	}
	values := map[string]any{"rounds": s.Rounds, "seconds": s.Seconds, "max_total": s.MaxTotal, "max": s.Max,
		"tool_name": s.ToolName, "pattern": s.Pattern, "window": s.Window}
	return EncodeAny(map[string]any{"type": s.Type, member: values[member]})
}

// UnmarshalJSON refuses an unknown type, and any member that does not belong to the type.
func (s *StopSpec) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	var kind string
	if err := json.Unmarshal(members["type"], &kind); err != nil || stopMembers[kind] == "" {
		return fmt.Errorf("core: a stop rule needs a type, one of %s", strings.Join(sortedKeys(stopMembers), ", "))
	}
	for m := range members {
		if m != "type" && m != stopMembers[kind] {
			return fmt.Errorf("core: stop rule %s has no member %q; it takes %q", kind, m, stopMembers[kind])
		}
	}
	type plain StopSpec
	return json.Unmarshal(b, (*plain)(s))
}
