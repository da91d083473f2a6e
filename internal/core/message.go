package core

import (
	"encoding/json"
	"fmt"
	"slices"
)

// drainMessage adds a user message. If the run waits, the message says what becomes of that; one that says nothing answers a call
// that waits for input, and lets an interrupted run go on.
func (d *draft) drainMessage(key string, s Signal, value json.RawMessage, apply bool) error {
	var parts []Part
	if err := json.Unmarshal(value, &parts); err != nil && (s.Kind != SignalStart || len(value) > 0) {
		if apply {
			return fmt.Errorf("core: message %q: %w", key, err)
		}
		parts = TextParts("(a message that cannot be read any more)")
	}
	switch {
	case s.Kind == SignalStart && len(parts) == 0:
		d.h.Told = false // a retry: it goes on from the journal as it is
		return nil
	case s.On == PendingQueue && (!apply || d.waits()):
		d.hold(key, s, parts)
		return nil
	case !apply:
	case s.On == PendingAbandon:
		if err := d.abandon(key, s); err != nil {
			return err
		}
	default:
		if err := d.unpause(key, s); err != nil {
			return err
		}
		if call, ok := d.waitsForInput(); ok {
			text, more := answerOf(parts)
			if len(more) > 0 {
				d.message(Message{Role: RoleUser, Parts: more})
			}
			return d.answer(call, key, s, Encode(text))
		}
	}
	d.message(Message{Role: RoleUser, Parts: parts})
	return nil
}

// answerOf is what a message says to a call that waits for input, and what else there is in it: a result to a call is a text, and images and
// documents follow as a message of their own.
func answerOf(parts []Part) (text string, more []Part) {
	more = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type == PartText })
	if text = TextOf(parts); text == "" && len(more) > 0 {
		text = "See what the user sent with this answer; it follows."
	}
	return text, more
}

// waits says whether some call is suspended.
func (d *draft) waits() bool {
	for _, c := range d.h.Calls {
		if c.Status == CallSuspended {
			return true
		}
	}
	return false
}

func (d *draft) waitsForInput() (ToolCall, bool) {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == CallSuspended && c.Kind == KindInput {
			return call, true
		}
	}
	return ToolCall{}, false
}

// unpause lets an interrupted run go on with a message.
func (d *draft) unpause(key string, s Signal) error {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == CallSuspended && c.Kind == KindInterrupt {
			return d.answer(call, key, s, nil)
		}
	}
	return nil
}

// answer makes a message the decision on a call. That closes a door: a decision that was stored after the owner looked would be
// accepted, and find its suspension spent by the message.
//
//	owner sees the message ── decision stored (202) ── commit: the message is the answer
func (d *draft) answer(call ToolCall, key string, s Signal, result json.RawMessage) error {
	d.closes = true
	return d.apply(call, DecisionRecord{CallID: call.ID, Suspension: d.h.Calls[call.ID].Sus, By: "message", Applied: true,
		Resume: Resume{DecisionID: key, Action: ActionResume, Result: result, UpdatedAt: s.At}})
}

// abandon gives up what the run waits for: each waiting call is cancelled with a result, and so are those held behind it. Results
// that are there stay. It closes the door on decisions, like [draft.answer].
func (d *draft) abandon(key string, s Signal) error {
	if err := d.unpause(key, s); err != nil {
		return err
	}
	given := map[string]string{}
	for id, c := range d.h.Calls {
		switch {
		case c.Status == CallSuspended && c.Pseudo: // to go on without an answer is no yes
			given[id] = ""
			d.over = &Reason{Kind: Blocked, Detail: "nobody answered what the run waited for before its first step"}
		case c.Status == CallSuspended && c.Kind == KindUnknownOutcome:
			given[id] = "Cancelled: the user went on; it is not known whether this call took effect."
		case c.Status == CallSuspended:
			given[id] = "Cancelled: the user went on without an answer to this call."
		case c.Status == CallNew && c.Hold != "":
			given[id] = "Not run: the user went on."
		}
	}
	for _, call := range d.round.Calls {
		text, gives := given[call.ID]
		if !gives {
			continue
		}
		d.closes = true
		delete(d.h.Out, "n:"+d.h.Calls[call.ID].Sus)
		if err := d.settleCall(call, CallCancelled, text); err != nil {
			return err
		}
	}
	return nil
}

// queuedMessage is the data of a message.queued event.
type queuedMessage struct {
	Key   string `json:"key"`
	By    string `json:"by,omitempty"`
	Parts []Part `json:"parts"`
}

// hold keeps a message for a run of its own.
func (d *draft) hold(key string, s Signal, parts []Part) {
	d.event(EventMessageQueued, queuedMessage{key, s.By, parts}, 0)
	d.h.Held = append(d.h.Held, Held{Seq: d.seq(), Key: key})
}

// FindHeld is the content of a held message, as a start's signal, from the segment it was journaled in.
func FindHeld(segment Segment, key string) (Signal, bool) {
	for _, e := range segment.Events {
		var m queuedMessage
		if e.Type == EventMessageQueued && json.Unmarshal(e.Data, &m) == nil && m.Key == key {
			return Signal{Kind: SignalStart, ID: key, By: m.By, Value: Encode(m.Parts), At: e.At}, true
		}
	}
	return Signal{}, false
}
