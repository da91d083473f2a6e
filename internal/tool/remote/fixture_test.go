package remote_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// clock is one on which a pause takes no time: it moves on at once, and keeps how long the pause
// was.
type clock struct {
	*enginetest.Clock
	pauses []time.Duration
	asleep func() // called in the middle of a pause
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.pauses = append(c.pauses, d)
	if c.asleep != nil {
		c.asleep()
	}
	c.Advance(d)
	return ctx.Err()
}

const quiet = 10 * time.Second

// kind is what may be done with a call.
type kind int

const (
	once  kind = iota // at most once
	again             // it may be repeated
	look              // it only reads, and may be repeated
)

var kinds = map[kind]string{once: "once", again: "again", look: "look"}

// world is one call, and an adapter that meets with one attempt after the other, the last one again
// and again.
type world struct {
	clock  *clock
	call   remote.Call
	before func(n int) // called before the n-th attempt, from 1
	sent   int
}

func newWorld(t testing.TB, k kind) *world {
	c := &clock{Clock: enginetest.NewClock(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))}
	return &world{clock: c, call: remote.Call{
		Request:  engine.ToolRequest{AtMostOnce: k == once, Call: core.ToolCall{ID: "call_1", Name: "pay"}},
		ReadOnly: k == look, Clock: c, Random: enginetest.NewRandom(t, 7), Quiet: quiet, Repeats: 2,
		Words: remote.Words{Read: "Bank was asked", Sent: "The request was sent to bank", Asked: "pay was sent to bank", Before: "It was sent before",
			Subject: "bank ", Again: "It could not be sent again: bank ", Crashed: "sent it"}}}
}

func (w *world) run(ctx context.Context, attempts ...remote.Attempt) (core.Outcome, error) {
	return w.call.Run(ctx, func(context.Context, *remote.Patience) remote.Attempt {
		w.sent++
		if w.before != nil {
			w.before(w.sent)
		}
		return attempts[min(w.sent, len(attempts))-1]
	})
}

// question is what a person is asked; empty if no one is.
func question(out core.Outcome) string {
	if out.Ticket == nil {
		return ""
	}
	return out.Ticket.Suspension.Message
}

// The attempts of the tests, one of each sort.
var (
	unreached = remote.NotSent{Why: "could not be reached", Retry: true}
	closed    = remote.NotSent{Why: "cannot be called"}
	unwelcome = remote.Refused{Why: "answered 401", Said: "Bank answered 401."}
	busy      = remote.Refused{Said: "Bank is busy.", Retry: true}
	throttled = remote.Refused{Why: "has no room", Retry: true, Certain: true}
	broken    = remote.Unknown{Why: "the connection broke", Retry: true}
	stopped   = remote.Unknown{Why: "it was stopped", Said: "Bank was stopped."}
	gateway   = remote.Unknown{Why: "a gateway answered 502", Said: "Bank answered 502.", Retry: true}
	paid      = remote.Answered{Outcome: core.Outcome{Text: "paid"}}
	half      = remote.Answered{Outcome: core.Outcome{Text: "pa"}, Doubt: "the rest is missing"}
	fault     = remote.Answered{Outcome: core.Outcome{Failed: true, Text: "Bank failed."}}
	overload  = remote.Answered{Outcome: core.Outcome{Failed: true, Text: "Bank answered 503."}, Doubt: "it answered 503"}
	duplicate = remote.Answered{Outcome: core.Outcome{Failed: true, Text: "Paid already."}, Settled: true}
)
