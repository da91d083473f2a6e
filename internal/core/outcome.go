package core

import (
	"encoding/json"
)

// CallOutcome is the outcome of a body that ran: success or failure.
func (o Outcome) CallOutcome() CallOutcome {
	if o.Failed {
		return CallOutcomeToolError
	}
	return CallOutcomeSucceeded
}

// Outcome is what a tool's body came to: a result, a failure, or a ticket to wait with.
type Outcome struct {
	Text   string          // the result, or what went wrong, as the model sees it
	Value  json.RawMessage // the result as JSON; nil if it is plain text
	Media  []Part          // images and documents that belong to the result
	Failed bool
	State  []StateOp      // what the body wrote
	Ticket *SuspendTicket // set: the call waits
	// with a ticket: what the call keeps for the next run of its body; nil: what it kept
	// before, null: nothing
	Scratch json.RawMessage
	// of the ticket; KindApproval if not said and the call is to be replayed, else KindInput
	Kind Kind
}

// Status is the call status an outcome leads to.
func (o Outcome) Status() CallStatus {
	switch {
	case o.Ticket != nil:
		return CallSuspended
	case o.Failed:
		return CallFailed
	}
	return CallSucceeded
}

// Message is the outcome as the log keeps it: at most so many bytes of its text, and its value if
// nothing was cut off.
func (o Outcome) Message(most int) Message {
	text := CutResult(o.Text, most)
	m := Message{Parts: append(TextParts(text), o.Media...)}
	if text != o.Text || len(o.Value) > most || !plainValue(o.Value) {
		return m
	}
	switch same := string(o.Value) == text; {
	case same:
		m.JSON = true
	default:
		m.Value = o.Value
	}
	return m
}
