package core

import (
	"encoding/json"
)

// A deadline is set when a call is suspended, and closes it as a decision would. A later answer
// doesn't change that: the engine records the first late answer and shows it to the model.
//
//	deadlineOf ── suspended … applyDeadlines ── deadlineDecision ── a late answer: recordLate

// Deadline is a limit to waiting. The zero value is none.
type Deadline struct {
	Within  int64           // ms; 0: no limit
	Outcome DeadlineOutcome // what the call comes to
	Result  json.RawMessage // of DeadlineResult
}

// DeadlineOutcome says what a call comes to that no answer arrived in time.
type DeadlineOutcome uint8

const (
	DeadlineFail   DeadlineOutcome = iota // it failed
	DeadlineCancel                        // it is cancelled, as by a denial
	// it has a result that was set in advance; not for approvals
	DeadlineResult
)

var deadlineNames = []string{"fail", "cancel", "result"}

func (o DeadlineOutcome) String() string { return name(deadlineNames, uint8(o)) }

func (o DeadlineOutcome) MarshalText() ([]byte, error) {
	return marshalName("deadline outcome", deadlineNames, uint8(o))
}

func (o *DeadlineOutcome) UnmarshalText(b []byte) error {
	return unmarshalName("deadline outcome", deadlineNames, b, o)
}
