package core

import (
	"encoding/json"
	"fmt"
	"strings"
)

// applyMessage adds a user message, or the input of a start. If the run waits, the message says
// what becomes of that; one that says nothing answers the question it was checked against, and lets
// an interrupted run go on.
func (d *draft) applyMessage(s delivery) error {
	parts, err := s.parts()
	if err != nil {
		return fmt.Errorf("core: message %q: %w", s.key, err)
	}
	if d.recordStart(s, parts) {
		return nil
	}
	if s.On == PendingQueue && d.waits() {
		d.hold(s, parts)
		return nil
	}
	d.endGrants()
	if s.On == PendingAbandon {
		if err := d.abandon(s); err != nil {
			return err
		}
		d.say(s.Signal, parts, "")
		return nil
	}
	if err := d.resumeInterrupted(s); err != nil {
		return err
	}
	if call, ok := d.questionOf(s.Signal); ok {
		d.say(s.Signal, parts, call.ID)
		return d.answer(call, s, AnswerOf(parts))
	}
	d.say(s.Signal, parts, "")
	return nil
}

// journalMessage adds a message that came too late to have an effect on this run. One that was
// queued begins the next run all the same.
func (d *draft) journalMessage(s delivery) {
	parts, err := s.parts()
	if err != nil {
		parts = TextParts("(a message that cannot be read any more)")
	}
	if d.recordStart(s, parts) {
		return
	}
	if s.On == PendingQueue {
		d.hold(s, parts)
		return
	}
	d.endGrants()
	d.say(s.Signal, parts, "")
}

// parts is the content of a message. A start may have none.
func (s delivery) parts() (parts []Part, err error) {
	if s.Kind == SignalStart && len(s.value) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(s.value, &parts)
	return parts, err
}

// say adds what the user said. The text of a message that answers a call is that call's result, and
// the model sees it there alone; readers see the whole message.
func (d *draft) say(s Signal, parts []Part, answers string) {
	said := Message{Role: RoleUser, Parts: parts, ID: s.Msg, By: s.By, Via: s.Via, Answers: answers}
	if d.h.LastUserMessage != d.seq() {
		said.Earlier = d.h.LastUserMessage
	}
	d.h.LastUserMessage = d.seq()
	m := d.message(said)
	d.event(EventMessageReceived, received{By: s.By, Via: s.Via, Answers: answers}, m)
}

// received is the data of a message.received event; the text is the message's.
type received struct {
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	Answers string `json:"answers,omitempty"`
}

// AnswerOf is what a message says to a call that waits for input, as a result in JSON: its text.
// Images and documents follow as a message of their own.
func AnswerOf(parts []Part) json.RawMessage {
	text := TextOf(parts)
	if text == "" && len(parts) > 0 {
		text = "See what the user sent with this answer; it follows."
	}
	return Encode(text)
}

// MessageID is the message's id in its thread: the one that its sender gave it, or one that follows
// from its place. n counts the messages of the segment from 1.
func (m Message) MessageID(thread string, segment int64, n int) string {
	if m.ID != "" {
		return m.ID
	}
	return fmt.Sprintf("msg_%s_%d_%d", strings.TrimPrefix(thread, "thr_"), segment, n)
}

// questionOf is the call that a message answers: the one it was checked against, if that still
// waits. A message that was sent before a tool asked is no answer to what it asks.
//
//	message stored ── tool asks: which colour? ── drain: a message like any other
func (d *draft) questionOf(s Signal) (ToolCall, bool) {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; s.Sus != "" && c.Kind == KindInput && c.waitsOn(s.Sus) {
			return call, true
		}
	}
	return ToolCall{}, false
}

// answer makes a message the decision on a call. That closes a door: a decision that was stored
// after the owner looked would be accepted, and find its suspension spent by the message.
//
//	owner sees the message ── decision stored (202) ── commit: the message is the answer
func (d *draft) answer(call ToolCall, s delivery, result json.RawMessage) error {
	d.closes = true
	return d.apply(call, DecisionRecord{CallID: call.ID, Suspension: d.h.Calls[call.ID].Sus, By: s.By, Via: ViaMessage, Applied: true,
		Resume: Resume{DecisionID: s.key, Action: ActionResume, Result: result, UpdatedAt: s.At}})
}

// abandon gives up what the run waits for: each waiting call is cancelled with a result, and so are
// those held behind it. Results that are there stay. It closes the door on decisions, like
// [draft.answer].
func (d *draft) abandon(s delivery) error {
	if err := d.resumeInterrupted(s); err != nil {
		return err
	}
	given := map[string]string{}
	for id, c := range d.h.Calls {
		switch {
		case c.Status == CallSuspended && c.Synthetic: // to go on without an answer is no yes
			given[id] = ""
			d.over = &Reason{Kind: Blocked, Code: CodeStartAbandoned, Detail: "nobody answered what the run waited for before its first step"}
		case c.Status == CallSuspended && c.Kind == KindUnknownOutcome:
			given[id] = "Cancelled: the user went on; it is not known whether this call took effect."
		case c.Status == CallSuspended:
			given[id] = "Cancelled: the user went on without an answer to this call."
		case c.Status == CallNew && c.HeldBehind != "":
			given[id] = "Not run: the user went on."
		}
	}
	for _, call := range d.round.Calls {
		text, gives := given[call.ID]
		if !gives {
			continue
		}
		d.closes = true
		delete(d.h.Out, NoticeKey(d.h.Calls[call.ID].Sus))
		if err := d.settleCall(call, CallCancelled, CallOutcomeAbandoned, textResult(text)); err != nil {
			return err
		}
	}
	return nil
}
