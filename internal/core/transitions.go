package core

import (
	"fmt"
)

// RunStatus is the coarse life of a run. The zero value is RunCreated.
type RunStatus uint8

const (
	RunCreated RunStatus = iota // stored, not yet picked up
	RunRunning                  // a worker has it, or the next step is due
	RunWaiting                  // at least one call waits for an answer
	RunDone                     // over; never reopened
)

// CallStatus is the life of one tool call. The zero value is CallNew.
type CallStatus uint8

const (
	CallNew       CallStatus = iota // asked for by the model, not yet started
	CallRunning                     // its body was started
	CallSuspended                   // waits for a decision
	CallResuming                    // has its decision, not yet settled
	CallSucceeded
	CallFailed
	CallCancelled
)

var runNames = []string{"created", "running", "waiting", "done"}

var callNames = []string{"new", "running", "suspended", "resuming", "succeeded", "failed", "cancelled"}

// runTransitions is the only statement of how a run may move. Staying put is always legal and not
// listed.
var runTransitions = map[RunStatus][]RunStatus{
	RunCreated: {RunRunning, RunDone},
	RunRunning: {RunWaiting, RunDone},
	RunWaiting: {RunRunning, RunDone},
	RunDone:    {},
}

// callTransitions is the only statement of how a call may move. Staying put is always legal and not
// listed.
var callTransitions = map[CallStatus][]CallStatus{
	CallNew:       {CallRunning, CallSuspended, CallResuming, CallSucceeded, CallFailed, CallCancelled},
	CallRunning:   {CallSuspended, CallSucceeded, CallFailed, CallCancelled},
	CallSuspended: {CallResuming, CallCancelled},
	CallResuming:  {CallRunning, CallSuspended, CallSucceeded, CallFailed, CallCancelled},
	CallSucceeded: {},
	CallFailed:    {},
	CallCancelled: {},
}

// TransitionError reports a status change that the tables don't allow. The caller must not write
// anything.
type TransitionError struct{ What, From, To string }

func (e *TransitionError) Error() string {
	return fmt.Sprintf("core: a %s cannot go from %s to %s", e.What, e.From, e.To)
}

// To returns next if the table has the move, else s itself and a [*TransitionError].
func (s RunStatus) To(next RunStatus) (RunStatus, error) {
	if s.Allows(next) {
		return next, nil
	}
	return s, &TransitionError{"run", s.String(), next.String()}
}

// Allows says whether the table has the move from s to next; staying put is always allowed.
func (s RunStatus) Allows(next RunStatus) bool { return allows(runTransitions, s, next) }

// Terminal says whether nothing follows s.
func (s RunStatus) Terminal() bool { return len(runTransitions[s]) == 0 }

// To returns next if the table has the move, else s itself and a [*TransitionError].
func (s CallStatus) To(next CallStatus) (CallStatus, error) {
	if s.Allows(next) {
		return next, nil
	}
	return s, &TransitionError{"call", s.String(), next.String()}
}

// Allows says whether the table has the move from s to next; staying put is always allowed.
func (s CallStatus) Allows(next CallStatus) bool { return allows(callTransitions, s, next) }

// Terminal says whether nothing follows s.
func (s CallStatus) Terminal() bool { return len(callTransitions[s]) == 0 }

func allows[S comparable](table map[S][]S, from, to S) bool {
	if from == to {
		return true
	}
	for _, next := range table[from] {
		if next == to {
			return true
		}
	}
	return false
}

func (s RunStatus) String() string { return name(runNames, uint8(s)) }

func (s RunStatus) MarshalText() ([]byte, error) {
	return marshalName("run status", runNames, uint8(s))
}

func (s *RunStatus) UnmarshalText(b []byte) error { return unmarshalName("run status", runNames, b, s) }

func (s CallStatus) String() string { return name(callNames, uint8(s)) }

func (s CallStatus) MarshalText() ([]byte, error) {
	return marshalName("call status", callNames, uint8(s))
}

func (s *CallStatus) UnmarshalText(b []byte) error {
	return unmarshalName("call status", callNames, b, s)
}

// Aggregate is what the calls of one round amount to.
type Aggregate uint8

const (
	// every call is settled (or there is none): the model may be asked again
	StepComplete Aggregate = iota
	Executing              // some call can go on without anybody's answer
	// every unsettled call waits, or is held behind one that waits
	Waiting
)

// AggregateOf derives what a round amounts to. A new call counts as executing unless it is held
// behind a call that suspended itself.
func AggregateOf(calls map[string]Call) Aggregate {
	waiting := false
	for _, c := range calls {
		switch {
		case c.Status.Terminal():
		case c.Status == CallSuspended, c.Status == CallNew && c.HeldBehind != "":
			waiting = true
		default:
			return Executing
		}
	}
	if waiting {
		return Waiting
	}
	return StepComplete
}
