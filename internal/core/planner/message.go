package planner

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
)

// applyMessage adds a user message, or the input of a start. If the run waits, the message says
// what becomes of that; one that says nothing answers the question it was checked against, and lets
// an interrupted run go on.
func (d *draft) applyMessage(s delivery) error {
	parts, err := inbox.Parts(s.Kind, s.value)
	if err != nil {
		return fmt.Errorf("core: message %q: %w", s.key, err)
	}
	if d.recordStart(s, parts) {
		return nil
	}
	if s.On == core.PendingQueue && waits.Any(d.h) {
		d.hold(s, parts)
		return nil
	}
	d.endGrants()
	if s.On == core.PendingAbandon {
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
		return d.answer(call, s, core.AnswerOf(parts))
	}
	d.say(s.Signal, parts, "")
	return nil
}

// journalMessage adds a message that came too late to affect this run. If it was queued, it still
// begins the next run.
func (d *draft) journalMessage(s delivery) {
	parts, err := inbox.Parts(s.Kind, s.value)
	if err != nil {
		parts = core.TextParts("(an unreadable message)")
	}
	if d.recordStart(s, parts) {
		return
	}
	if s.On == core.PendingQueue {
		d.hold(s, parts)
		return
	}
	d.endGrants()
	d.say(s.Signal, parts, "")
}

// say adds a user message. The text of a message that answers a call becomes that call's result,
// the only place where the model sees it; readers see the whole message.
func (d *draft) say(s core.Signal, parts []core.Part, answers string) {
	said := core.Message{Role: core.RoleUser, Parts: parts, ID: s.Msg, By: s.By, Via: s.Via, Answers: answers}
	if d.h.LastUserMessage != d.seq() {
		said.Earlier = d.h.LastUserMessage
	}
	d.h.LastUserMessage = d.seq()
	m := d.message(said)
	d.event(core.EventMessageReceived, events.MessageReceived{By: s.By, Via: s.Via, Answers: answers}, m)
}

// questionOf returns the call that a message answers: the one it was checked against, if it is
// still suspended. A message sent before a tool asked its question doesn't answer it.
//
//	message stored ── tool asks: which color? ── drain: an ordinary message
func (d *draft) questionOf(s core.Signal) (core.ToolCall, bool) {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; s.Sus != "" && c.Kind == core.KindInput && c.WaitsOn(s.Sus) && !hold.On(d.h, s.Sus, d.v.Now) {
			return call, true
		}
	}
	return core.ToolCall{}, false
}

// answer makes a message the decision on a call. The commit must be a closing one: a decision
// stored after the owner looked would otherwise be accepted (202) although the message has already
// answered the suspension.
//
//	owner sees the message ── decision stored (202) ── commit: the message is the answer
func (d *draft) answer(call core.ToolCall, s delivery, result json.RawMessage) error {
	d.closes = true
	return d.apply(call, core.DecisionRecord{CallID: call.ID, Suspension: d.h.Calls[call.ID].Sus, By: s.By, Via: ViaMessage, Applied: true,
		Resume: core.Resume{DecisionID: s.key, Action: core.ActionResume, Result: result, UpdatedAt: s.At}})
}

// abandon gives up what the run waits for: each waiting call is cancelled with a result, and so are
// those held behind it. Existing results stay. As with [draft.answer], the store refuses the commit
// if the inbox has an unseen decision.
func (d *draft) abandon(s delivery) error {
	if err := d.resumeInterrupted(s); err != nil {
		return err
	}
	given := map[string]string{}
	for id, c := range d.h.Calls {
		if c.Status == core.CallSuspended && c.Synthetic {
			// continuing without an answer is not an approval
			given[id], d.over = "", d.abandonedWait(id)
		} else if text := phrase.Abandoned(c); text != "" {
			given[id] = text
		}
	}
	for _, call := range d.round.Calls {
		text, gives := given[call.ID]
		if !gives {
			continue
		}
		d.closes = true
		delete(d.h.Out, core.NoticeKey(d.h.Calls[call.ID].Sus))
		if err := d.settleCall(call, core.CallCancelled, core.CallOutcomeAbandoned, core.TextResult(text)); err != nil {
			return err
		}
	}
	return nil
}
