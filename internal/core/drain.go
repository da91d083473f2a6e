package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// drain takes every signal out of the inbox and into the journal. With apply, decisions take effect; without, at the end of a
// run, they are journaled as not applied, so that whoever sent them can see what became of them.
func (d *draft) drain(apply bool) error {
	if len(d.h.Inbox) == 0 {
		return nil
	}
	d.must = true
	d.openTurn()
	for _, key := range d.inboxOrder() {
		if err := d.drainOne(key, d.h.Inbox[key], apply); err != nil {
			return err
		}
		d.drained = append(d.drained, key)
	}
	d.h.Inbox = map[string]Signal{}
	return nil
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
	case SignalCancel:
		return nil // the end says it
	}
	return fmt.Errorf("core: signal %q of unknown kind %q", key, s.Kind)
}

// drainMessage adds a user message, unless a call waits for input: then it is that call's answer. That closes a door: a decision
// that was stored after the owner looked would be accepted, and find its suspension spent by the message.
//
//	owner sees the message ── decision stored (202) ── commit: the message is the answer
func (d *draft) drainMessage(key string, s Signal, value json.RawMessage, apply bool) error {
	var parts []Part
	if err := json.Unmarshal(value, &parts); err != nil {
		if apply {
			return fmt.Errorf("core: message %q: %w", key, err)
		}
		parts = TextParts("(a message that cannot be read any more)")
	}
	if call, sus, ok := d.waitsForInput(); ok && apply {
		d.closes = true
		text := Message{Parts: parts}.Text()
		return d.apply(call, DecisionRecord{CallID: call.ID, Suspension: sus, By: "message", Applied: true,
			Resume: Resume{DecisionID: key, Action: ActionResume, Result: Encode(text), UpdatedAt: s.At}})
	}
	d.message(Message{Role: RoleUser, Parts: parts})
	d.userSpoke = true
	return nil
}

func (d *draft) waitsForInput() (call ToolCall, suspension string, ok bool) {
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == CallSuspended && c.Kind == KindInput {
			return call, c.Sus, true
		}
	}
	return ToolCall{}, "", false
}

// drainDecision gives a decision to the call that is suspended on exactly the suspension it names.
func (d *draft) drainDecision(key string, s Signal, value json.RawMessage, apply bool) error {
	var r Resume
	if err := json.Unmarshal(value, &r); err != nil {
		if apply {
			return fmt.Errorf("core: decision on %s: %w", key, err)
		}
		r = Resume{DecisionID: s.ID, Action: ActionCancel, Reason: "(a decision that cannot be read any more)", UpdatedAt: s.At}
	}
	rec := DecisionRecord{CallID: s.Call, Suspension: key, Digest: s.Digest, By: s.By, Resume: r}
	call, ok := d.call(s.Call)
	c := d.h.Calls[s.Call]
	if !apply || !ok || c.Status != CallSuspended || c.Sus != key {
		d.event(EventDecisionRecorded, rec, 0)
		return nil
	}
	rec.Applied = true
	return d.apply(call, rec)
}

// apply moves a suspended call to resuming, its decision beside it.
func (d *draft) apply(call ToolCall, rec DecisionRecord) error {
	if err := d.move(call.ID, CallResuming); err != nil {
		return err
	}
	c := d.h.Calls[call.ID]
	c.Decision = rec.DecisionID + " " + rec.Digest
	c.Attempt++
	if c.Kind != KindUnknownOutcome {
		c.Passed = ""
		if c.Mode == PassDecisionToTool {
			c.Passed = rec.Suspension
		}
	}
	if c.Kind == KindApproval && rec.Action == ActionResume {
		c.Approved = true
	}
	d.h.Calls[call.ID] = c
	d.round.Decisions[rec.Suspension] = rec
	delete(d.h.Out, "n:"+rec.Suspension)
	d.event(EventDecisionRecorded, rec, 0)
	d.event(EventCallResuming, d.callState(call), 0)
	return nil
}
