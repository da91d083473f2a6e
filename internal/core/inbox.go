package core

import (
	"cmp"
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
	return d.applyDeadlines()
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
		return d.receiveMessage(key, s, value, apply)
	case SignalDecision:
		return d.receiveDecision(key, s, value, apply)
	case SignalLate:
		return d.recordLate(strings.TrimPrefix(key, LateKey("")), s, value)
	case SignalMisfit:
		return d.recordInvalidAnswer(s, value)
	case SignalPause:
		return d.receiveInterrupt(s, apply)
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

// Decided says whether a decision is in the inbox.
func (h Head) Decided() bool {
	for _, s := range h.Inbox {
		if s.Kind == SignalDecision {
			return true
		}
	}
	return false
}
