// Package inbox knows in which order the signals of an inbox are applied, and reads what they
// carry.
package inbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Order returns the keys of the signals in the order in which they are applied: the input first,
// then decisions and the results of children, then the rest, each by time and then by key. A
// message may answer a call that waits for input, so decisions come first: their callers were
// promised that theirs was the first. Times come from callers' clocks and can't prove the order.
func Order(signals map[string]core.Signal) []string {
	keys := slices.Sorted(maps.Keys(signals))
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(signals[a].Kind), rank(signals[b].Kind)), cmp.Compare(signals[a].At, signals[b].At))
	})
	return keys
}

func rank(kind core.SignalKind) int {
	switch kind {
	case core.SignalStart:
		return 0
	case core.SignalDecision, core.SignalVote, core.SignalChild, core.SignalWithdrawn:
		return 1
	case core.SignalPause:
		return 3 // a message that came with it does not undo it
	case core.SignalContinue:
		return 4 // it ends the interrupt that came before it
	}
	return 2
}

// Cause is the cause of a turn of h that begins with the signals: the one that is applied first
// counts.
func Cause(h core.Head, signals map[string]core.Signal) core.TurnCause {
	first := signals[Order(signals)[0]]
	if _, cancelled := signals[core.KeyCancel]; cancelled && first.Kind != core.SignalStart {
		return core.CauseCancel
	}
	switch first.Kind {
	case core.SignalStart:
		if h.RetryOf != "" {
			return core.CauseRetry
		}
		return core.CauseInput
	case core.SignalMessage:
		return core.CauseMessage
	case core.SignalPause, core.SignalContinue:
		return core.CauseInterrupt
	case core.SignalChild:
		return core.CauseChild
	}
	return core.CauseDecision
}

// Resume reads the decision that a signal carries; with the error comes what is said in its place.
func Resume(s core.Signal, value json.RawMessage) (core.Resume, error) {
	var r core.Resume
	err := json.Unmarshal(value, &r)
	if err == nil && r.Action == 0 {
		err = errors.New("a decision without an action")
	}
	if err != nil {
		return core.Resume{DecisionID: s.ID, Action: core.ActionCancel, Reason: "(an unreadable decision)", UpdatedAt: s.At}, err
	}
	return r, nil
}

// Parts is the content of a message. A start may have none.
func Parts(kind core.SignalKind, value json.RawMessage) (parts []core.Part, err error) {
	if kind == core.SignalStart && len(value) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(value, &parts)
	return parts, err
}

// Child reads the end of a child that a signal carries. What cannot be read is no success.
func Child(value json.RawMessage) core.ChildResult {
	var r core.ChildResult
	if err := json.Unmarshal(value, &r); err != nil || r.Outcome == "" {
		return core.ChildResult{Outcome: core.CallOutcomeChildLost, Detail: "its result cannot be read", Usage: core.TreeUsage{Runs: 1, Unpriced: true}}
	}
	return r
}
