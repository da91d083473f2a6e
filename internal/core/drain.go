package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// drain takes every signal out of the inbox and into the journal. With apply, they take effect, and then deadlines that have passed
// do; without, at the end of a run, they are journaled as not applied, so that whoever sent them can see what became of them.
func (d *draft) drain(apply bool) error {
	if len(d.h.Inbox) > 0 {
		d.must = true
		d.openTurn(d.causeOfTurn())
	}
	for _, key := range d.inboxOrder() {
		if err := d.drainOne(key, d.h.Inbox[key], apply); err != nil {
			return err
		}
		d.drained = append(d.drained, key)
	}
	d.h.Inbox = map[string]Signal{}
	if !apply {
		return nil
	}
	return d.timeOut()
}

// inboxOrder is the order signals are applied in: the input first, then decisions, then the rest, each by time; ties by key,
// so that it is one order. A message may answer a call that waits for input, so decisions come before: the caller of one that is
// in the inbox was told that it is the first on its suspension. Times are of callers' clocks and cannot tell who was.
func (d *draft) inboxOrder() []string {
	keys := sortedKeys(d.h.Inbox)
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.drainRank(a), d.drainRank(b)), cmp.Compare(d.h.Inbox[a].At, d.h.Inbox[b].At))
	})
	return keys
}

func (d *draft) drainRank(key string) int {
	switch d.h.Inbox[key].Kind {
	case SignalStart:
		return 0
	case SignalDecision:
		return 1
	case SignalPause:
		return 3 // a message that came with it does not undo it
	}
	return 2
}

func (d *draft) drainOne(key string, s Signal, apply bool) error {
	value := s.Value
	if s.Ref != "" {
		value = d.v.Payloads[s.Ref]
	}
	switch s.Kind {
	case SignalStart, SignalMessage:
		return d.drainMessage(key, s, value, apply)
	case SignalDecision:
		return d.drainDecision(key, s, value, apply)
	case SignalLate:
		return d.drainLate(strings.TrimPrefix(key, LateKey("")), s, value)
	case SignalMisfit:
		return d.drainMisfit(s, value)
	case SignalPause:
		applied := apply && !d.paused()
		d.event(EventInterruptRecorded, asked{ID: s.ID, By: s.By, Via: s.Via, Applied: applied}, 0)
		if applied {
			return d.pause(s.ID)
		}
		return nil
	case SignalCancel:
		d.event(EventCancelRecorded, asked{By: s.By, Via: s.Via, Applied: true}, 0)
		return nil // the end does the rest
	}
	return fmt.Errorf("core: signal %q of unknown kind %q", key, s.Kind)
}

// asked is the data of interrupt.recorded and cancel.recorded events.
type asked struct {
	ID      string `json:"id,omitempty"`
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	Applied bool   `json:"applied"`
}

// drainDecision gives a decision to the call that is suspended on exactly the suspension it names.
func (d *draft) drainDecision(key string, s Signal, value json.RawMessage, apply bool) error {
	r, err := readResume(s, value)
	if err != nil && apply {
		return fmt.Errorf("core: decision on %s: %w", key, err)
	}
	rec := record(key, s, r)
	call, ok := d.call(s.Call)
	c := d.h.Calls[s.Call]
	if !apply || !ok || c.Status != CallSuspended || c.Sus != key {
		d.event(EventDecisionRecorded, rec, 0)
		return nil
	}
	rec.Applied = true
	return d.apply(call, rec)
}

// record is a decision as it is journaled, before anything follows from it.
func record(sus string, s Signal, r Resume) DecisionRecord {
	return DecisionRecord{CallID: s.Call, Suspension: sus, Digest: s.Digest, By: s.By, Via: s.Via, Link: s.Link, MintedBy: s.Mint, Resume: r}
}

// anyAsk is lifted by somebody who wrote the arguments himself.
const anyAsk = "*"

// readResume reads what a signal carries; with the error comes what is said in its place.
func readResume(s Signal, value json.RawMessage) (Resume, error) {
	var r Resume
	err := json.Unmarshal(value, &r)
	if err == nil && r.Action == 0 {
		err = errors.New("a decision without an action")
	}
	if err != nil {
		return unreadable(s), err
	}
	return r, nil
}

func unreadable(s Signal) Resume {
	return Resume{DecisionID: s.ID, Action: ActionCancel, Reason: "(a decision that cannot be read any more)", UpdatedAt: s.At}
}

// apply moves a suspended call to resuming, its decision beside it.
func (d *draft) apply(call ToolCall, rec DecisionRecord) error {
	if err := d.move(call.ID, CallResuming); err != nil {
		return err
	}
	rec.digestArguments(call, d.effective(call))
	approved := rec.Action == ActionResume && rec.Error == ""
	d.change(call.ID, func(c *Call) {
		c.Decision = rec.DecisionID + " " + rec.Digest
		c.Attempt++
		c.Again = false
		own := c.Asked == "" // the body's question; its answer is kept over whatever is asked before it runs again
		if c.Kind != KindUnknownOutcome && c.Mode == PassDecisionToTool && (own || c.Passed == "") {
			c.Passed = rec.Suspension
		}
		if !approved || c.Kind != KindApproval {
			return
		}
		c.Approved = true
		if c.Asked != "" {
			c.Lifts = c.Asked
		}
		if !IsNull(rec.Arguments) {
			c.Edited, c.Lifts = rec.Suspension, anyAsk
		}
		if rec.Grant == GrantRun && c.Grant != "" {
			d.grant(c.Grant)
		}
	})
	if !rec.TimedOut {
		d.h.Resumes++
	}
	d.round.Decisions[rec.Suspension] = rec
	d.endGrantsOfAnswered()
	delete(d.h.Out, NoticeKey(rec.Suspension))
	d.event(EventDecisionRecorded, rec, 0)
	d.event(EventCallResuming, d.callState(call), 0)
	return nil
}

// drainLate records the first answer that came after the deadline of its suspension had decided, and tells the model once. Nothing
// else follows from it.
func (d *draft) drainLate(sus string, s Signal, value json.RawMessage) error {
	r, _ := readResume(s, value) // what cannot be read came too late all the same
	if d.h.Timed[sus] == 0 {
		return nil
	}
	delete(d.h.Timed, sus)
	rec := record(sus, s, r)
	rec.Late = true
	d.round.LateWords = d.round.LateWords || rec.words()
	d.endGrantsOfAnswered()
	d.event(EventDecisionRecorded, rec, 0)
	d.message(Message{Role: RoleSystem, Parts: TextParts(fmt.Sprintf("An answer to the call %s came after its deadline and was not used: %s", s.Call, clip(decisionLine(r), 500)))})
	return nil
}

// MostMisfits is how many refused results of one suspension are journaled.
const MostMisfits = 8

// invalidAnswer is the data of a call.invalid_answer event.
type invalidAnswer struct {
	CallID     string `json:"call_id"`
	Suspension string `json:"suspension"`
	Detail     string `json:"detail"`
	By         string `json:"by,omitempty"`
	Via        string `json:"via,omitempty"`
}

// drainMisfit journals that a client's result was refused, so that readers who took the call for answered know that it waits. Nothing
// else follows.
func (d *draft) drainMisfit(s Signal, value json.RawMessage) error {
	var why string
	_ = json.Unmarshal(value, &why) // a value that is lost leaves the reason out
	d.event(EventCallInvalidAnswer, invalidAnswer{s.Call, s.Sus, clip(why, 500), s.By, s.Via}, 0)
	if c, ok := d.h.Calls[s.Call]; ok && c.Sus == s.Sus && c.Status == CallSuspended {
		d.change(s.Call, func(c *Call) { c.Misfits++ })
	}
	return nil
}

// decisionLine is a decision in one line.
func decisionLine(r Resume) string {
	switch {
	case r.Error != "":
		return "error " + r.Error
	case !IsNull(r.Result):
		return r.Action.String() + " " + resultText(r.Result)
	case r.Reason != "":
		return r.Action.String() + ": " + r.Reason
	}
	return r.Action.String()
}

func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
