package planner

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// applyInbox moves every signal into the journal and applies it, but for what waits for the end of
// a hold. Passed deadlines and moments apply after that: an answer accepted before wins.
func (d *draft) applyInbox() error {
	ready, stay := hold.Split(d.h.Inbox, d.v.Now)
	if err := d.drain(ready, stay, d.applySignal); err != nil {
		return err
	}
	if err := d.applyDeadlines(); err != nil {
		return err
	}
	return d.applyMoments()
}

// journalInbox journals every signal at the end of a run: its sender sees what became of it.
func (d *draft) journalInbox() error { return d.drain(d.h.Inbox, nil, d.journalSignal) }

// drain takes the ready signals out of the inbox: do folds in one of them. A commit that takes a
// held decision is a closing one, because that may have been withdrawn.
func (d *draft) drain(ready, stay map[string]core.Signal, do func(delivery) error) error {
	if len(ready) > 0 {
		d.must = true
		d.openTurn(inbox.Cause(d.h, ready))
	}
	for _, key := range inbox.Order(ready) {
		if err := do(d.delivery(key)); err != nil {
			return err
		}
		d.drained = append(d.drained, key)
		d.closes = d.closes || ready[key].Hold != 0
	}
	d.h.Inbox = core.CloneMap(stay)
	return nil
}

// delivery is a signal with its inbox key and its value, which may be stored beside the head.
type delivery struct {
	core.Signal
	key   string
	value json.RawMessage
}

func (d *draft) delivery(key string) delivery {
	s := d.h.Inbox[key]
	if s.Ref != "" {
		return delivery{s, key, d.v.Payloads[s.Ref]}
	}
	return delivery{s, key, s.Value}
}

// applySignal lets a signal take effect, and journals it.
func (d *draft) applySignal(s delivery) error {
	switch s.Kind {
	case core.SignalStart, core.SignalMessage:
		return d.applyMessage(s)
	case core.SignalDecision:
		return d.applyDecision(s)
	case core.SignalVote:
		return d.applyVote(s)
	case core.SignalChild:
		return d.applyChild(s)
	case core.SignalPause:
		return d.applyInterrupt(s)
	case core.SignalContinue:
		return d.applyContinue(s)
	}
	return d.recordSignal(s)
}

// journalSignal journals a signal that the end of the run overtook.
func (d *draft) journalSignal(s delivery) error {
	switch s.Kind {
	case core.SignalStart, core.SignalMessage:
		d.journalMessage(s)
		return nil
	case core.SignalDecision:
		d.journalDecision(s)
		return nil
	case core.SignalVote:
		d.journalVote(s)
		return nil
	case core.SignalChild:
		d.recordChild(s, inbox.Child(s.value), false)
		return nil
	case core.SignalPause, core.SignalContinue:
		d.recordInterrupt(s, false)
		return nil
	}
	return d.recordSignal(s)
}

// recordSignal journals a signal from which nothing else follows.
func (d *draft) recordSignal(s delivery) error {
	switch s.Kind {
	case core.SignalLate:
		d.recordLate(s)
	case core.SignalMisfit:
		d.recordInvalidAnswer(s)
	case core.SignalRefused:
		d.recordRefused(s)
	case core.SignalWithdrawn:
		d.recordWithdrawn(s)
	case core.SignalNews: // the next look shows what is new
		d.h.NotBefore = peer.Hasten(d.h.Peer, d.h.NotBefore, d.v.Head.At, d.v.Now)
	case core.SignalCancel: // the end does the rest
		d.event(core.EventCancelRecorded, events.Asked{By: s.By, Via: s.Via, Applied: true}, 0)
	default:
		return fmt.Errorf("core: signal %q of unknown kind %q", s.key, s.Kind)
	}
	return nil
}
