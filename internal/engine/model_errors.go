package engine

import (
	"errors"
	"time"
)

// StopError is a model's word that it has nothing to say any more.
type StopError struct{ Code, Detail string }

func (e *StopError) Error() string { return "engine: the model stopped: " + e.Code }

// ModelError is a failure whose detail is safe to show to callers and useful to them.
type ModelError struct{ Detail string }

func (e *ModelError) Error() string { return "engine: model: " + e.Detail }

// CutShort is the end of a context while a model answered: what it has said so far is paid for. It
// wraps the cause of the context.
type CutShort struct{ Cause error }

func (e *CutShort) Error() string { return e.Cause.Error() }

// Unwrap is why the context ended.
func (e *CutShort) Unwrap() error { return e.Cause }

// TryLater is a failure that may pass: the run sleeps, and asks again. It wraps [ErrTryAgain].
type TryLater struct {
	Detail string        // safe to show to callers
	Busy   bool          // the provider was at capacity and did nothing; for the log
	After  time.Duration // for which the provider wants to be left alone; 0 if it did not say
	Cause  error         // for the log; may be nil

	// Answered: the model answered, or began to, and what it said is no turn. Without it
	// nothing answered, which is an outage.
	Answered bool
}

func (e *TryLater) Error() string {
	if e.Cause == nil {
		return "engine: model: " + e.Detail
	}
	return "engine: model: " + e.Detail + ": " + e.Cause.Error()
}

// Unwrap makes it an [ErrTryAgain].
func (e *TryLater) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrTryAgain}
	}
	return []error{ErrTryAgain, e.Cause}
}

// ErrTryAgain marks a failure that may pass.
var ErrTryAgain = errors.New("engine: try again later")
