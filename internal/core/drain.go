package core

import (
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

// inboxOrder is the order signals are applied in: the input first, then by time; ties by key, so that it is one order.
func (d *draft) inboxOrder() []string {
	keys := sortedKeys(d.h.Inbox)
	slices.SortStableFunc(keys, func(a, b string) int {
		if (a == KeyStart) != (b == KeyStart) {
			if a == KeyStart {
				return -1
			}
			return 1
		}
		return int(d.h.Inbox[a].At - d.h.Inbox[b].At)
	})
	return keys
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

// drainMessage adds a user message, unless a call waits for input: then it is that call's answer.
func (d *draft) drainMessage(key string, s Signal, value json.RawMessage, apply bool) error {
	var parts []Part
	if err := json.Unmarshal(value, &parts); err != nil {
		if apply {
			return fmt.Errorf("core: message %q: %w", key, err)
		}
		parts = TextParts("(a message that cannot be read any more)")
	}
	if call, sus, ok := d.waitsForInput(); ok && apply {
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
	if err := json.Unmarshal(value, &r); err != nil && apply {
		return fmt.Errorf("core: decision on %s: %w", key, err)
	}
	rec := DecisionRecord{CallID: s.Call, Suspension: key, Digest: s.Digest, By: s.By, Resume: r}
	call, ok := d.call(s.Call)
	c := d.h.Calls[s.Call]
	if !apply || !ok || c.Status != CallSuspended || c.Sus != key {
		d.event(DecisionRecorded, rec, 0)
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
	if c.Kind == KindApproval && rec.Action == ActionResume {
		c.Approved = true
	}
	d.h.Calls[call.ID] = c
	d.round.Decisions[rec.Suspension] = rec
	delete(d.h.Out, "n:"+rec.Suspension)
	d.event(DecisionRecorded, rec, 0)
	d.event(CallResumed, d.state(call), 0)
	return nil
}
