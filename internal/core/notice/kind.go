package notice

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Kind says what a notice is about. The strings are a contract with subscribers, and are stored.
type Kind string

const (
	Suspended    Kind = "suspended"     // a call waits for an answer
	Reminded     Kind = "reminded"      // it still waits; people are reminded, or others asked
	DeadlineNear Kind = "deadline_near" // three quarters of the time for an answer have passed
	Decided      Kind = "decided"       // the wait is over, with an answer or without
	Done         Kind = "done"          // the run ended, for any reason
	Failed       Kind = "failed"        // the run ended in an error, or was stopped or blocked
)

// Kinds are all of them, in the order in which a call and a run go through them.
var Kinds = []Kind{Suspended, Reminded, DeadlineNear, Decided, Done, Failed}

// Asks says whether a notice of this kind asks a person.
func (k Kind) Asks() bool { return k == Suspended || k == Reminded || k == DeadlineNear }

// Set is what a subscriber wants to be notified of.
type Set []Kind

// Of returns the kind under which a subscriber is notified of an event; false if it isn't. Of two
// kinds that fit, it is the more specific one, so that no subscriber gets an event twice.
func (s Set) Of(e core.Event) (Kind, bool) {
	for _, kind := range kindsOf(e) {
		if slices.Contains(s, kind) {
			return kind, true
		}
	}
	return "", false
}

// Ends says whether a subscriber is notified of ends of runs.
func (s Set) Ends() bool { return slices.Contains(s, Done) || slices.Contains(s, Failed) }

// WithoutEnds is the set without the ends of runs.
func (s Set) WithoutEnds() Set {
	return slices.DeleteFunc(slices.Clone(s), func(k Kind) bool { return k == Done || k == Failed })
}

// kindsOf returns the kinds that fit an event, the most specific first.
func kindsOf(e core.Event) []Kind {
	switch e.Type {
	case core.EventCallSuspended:
		if kindOfCall(e).AsksSomeone() { // others wait for no one who could be told
			return []Kind{Suspended}
		}
	case core.EventCallReminded:
		return []Kind{Reminded}
	case core.EventCallDeadlineNear:
		return []Kind{DeadlineNear}
	case core.EventCallEscalated: // another group is asked, which has heard of nothing yet
		if !replaced(e) {
			return []Kind{Reminded, Suspended}
		}
	case core.EventDecisionRecorded:
		if applied(e) {
			return []Kind{Decided}
		}
	case core.EventCallCancelled:
		if overtaken(e) {
			return []Kind{Decided}
		}
	case core.EventRunEnded:
		if endedWell(e) {
			return []Kind{Done}
		}
		return []Kind{Failed, Done}
	}
	return nil
}

func kindOfCall(e core.Event) core.Kind {
	var call struct {
		Kind core.Kind `json:"kind"`
	}
	_ = json.Unmarshal(e.Data, &call) // what can't be read is announced
	return call.Kind
}

// replaced says whether an escalation has asked anew: that has an event of its own.
func replaced(e core.Event) bool {
	var r struct {
		Replaced bool `json:"replaced"`
	}
	return json.Unmarshal(e.Data, &r) == nil && r.Replaced
}

func applied(e core.Event) bool {
	var d struct {
		Applied bool `json:"applied"`
	}
	return json.Unmarshal(e.Data, &d) == nil && d.Applied
}

// overtaken says whether a call waited until the run ended or a message came instead of an answer.
// The people who were asked are told that no answer is needed any more.
func overtaken(e core.Event) bool {
	var ended core.Ended
	return json.Unmarshal(e.Data, &ended) == nil && ended.Suspension != ""
}

func endedWell(e core.Event) bool {
	var r core.Reason
	if json.Unmarshal(e.Data, &r) != nil {
		return false
	}
	return r.Kind == core.NaturalEnd || r.Kind == core.BehaviorRequested || r.Kind == core.Cancelled
}
