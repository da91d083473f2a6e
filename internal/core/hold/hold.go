// Package hold knows decisions that are stored and not yet applied: for a few seconds, who decided
// may withdraw one.
//
//	stored ── held ── its time is over ── drained: applied
//	             └─── withdrawn ───────── drained: journaled, and the call waits as before
//
// A held decision is in the inbox under its suspension, like every other, so that no rival can be
// stored. What must not overtake it stays in the inbox with it: a message that abandons what the
// run waits for, and the messages behind that one. A withdrawal takes the decision's place in one
// write that counts as a signal. The commit that applies a held decision demands that it has seen
// all signals: so one of the two happens, and never both.
package hold

import (
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
)

// MostWithdrawn is how many decisions on one suspension may be withdrawn. After that none is held.
const MostWithdrawn = 8

// Held says whether the signal is a decision whose time has not come.
func Held(s core.Signal, now int64) bool { return s.Kind == core.SignalDecision && s.Hold > now }

// On says whether a decision is held that answers the suspension.
func On(h core.Head, suspension string, now int64) bool { return Held(h.Inbox[suspension], now) }

// Split divides the signals of an inbox into those that are applied now and those that stay.
func Split(signals map[string]core.Signal, now int64) (ready, stay map[string]core.Signal) {
	ready, stay = map[string]core.Signal{}, map[string]core.Signal{}
	abandons := false
	for key, s := range signals {
		if Held(s, now) {
			stay[key] = s
		}
		abandons = abandons || s.Kind == core.SignalMessage && s.On == core.PendingAbandon
	}
	for key, s := range signals {
		switch _, held := stay[key]; {
		case held:
		case s.Kind == core.SignalMessage && abandons && len(stay) > 0:
			stay[key] = s
		default:
			ready[key] = s
		}
	}
	return ready, stay
}

// Decided says whether a decision or a vote is in the inbox that can be applied.
func Decided(h core.Head, now int64) bool {
	for _, s := range h.Inbox {
		if s.Kind == core.SignalVote || s.Kind == core.SignalDecision && !Held(s, now) {
			return true
		}
	}
	return false
}

// Withdrawn are the ids of the decisions on the call's suspension that were withdrawn, journaled or
// still in the inbox.
func Withdrawn(h core.Head, call, suspension string) (ids []string) {
	if c := h.Calls[call]; c.Sus == suspension && c.Withdrawn != "" {
		ids = strings.Split(c.Withdrawn, "\n")
	}
	for _, s := range h.Inbox {
		if s.Kind == core.SignalWithdrawn && s.Sus == suspension {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Note adds the decision of a withdrawal to those of its call.
func Note(c *core.Call, id string) {
	c.Withdrawn = strings.TrimPrefix(c.Withdrawn+"\n"+id, "\n")
}

// Event is the data of the event of a withdrawal.
func Event(s core.Signal, value json.RawMessage) events.Withdrawn {
	r, _ := inbox.Resume(s, value)
	return events.Withdrawn{CallID: s.Call, Suspension: s.Sus, DecisionID: s.ID, Digest: s.Digest, Action: r.Action, Reason: r.Reason,
		By: s.By, Via: s.Via, Link: s.Link, MintedBy: s.Mint, Verified: s.Ver, DecidedAt: s.At, WithdrawnAt: s.Hold}
}
