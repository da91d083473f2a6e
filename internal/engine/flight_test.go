package engine_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// longRound is a rig whose tool "slow" runs until release is closed, or it is stopped, and whose
// tool "pay" is asked about.
type longRound struct {
	*rig
	started, release chan struct{}
	stopped          error // why the slow body was stopped
}

func newLongRound(t *testing.T, parallel bool, turn core.Turn) *longRound {
	l := &longRound{rig: newRig(t, turn, says("done")), started: make(chan struct{}), release: make(chan struct{})}
	l.terms.Parallel = parallel
	l.tool("slow", toolRule{effect: core.Allow, body: func(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
		close(l.started)
		select {
		case <-l.release:
			return core.Outcome{Text: "slow did it"}, nil
		case <-ctx.Done():
			l.stopped = context.Cause(ctx)
			return core.Outcome{}, ctx.Err()
		}
	}})
	l.ask("pay")
	return l
}

// whileSlow does a step, calls f while the slow body runs, and lets the watch look at the head
// once. The clock does not move after that.
func (l *longRound) whileSlow(f func()) {
	l.whileRunningUntil(l.started, func() { f(); l.seen() }, func() bool { return true })
}

// seen lets the watch look at the head once.
func (l *longRound) seen() { l.clock.Advance(1500 * time.Millisecond) }

// applied waits until a commit beside the slow body has emptied the inbox.
func (l *longRound) applied() {
	l.seen()
	for len(l.head().Inbox) > 0 {
		runtime.Gosched()
	}
}

// drained is applied, and lets the slow body end.
func (l *longRound) drained() {
	l.applied()
	close(l.release)
}

// writer is a tool "one" that writes a key and must not run twice.
func (l *longRound) writer() {
	one := l.asWriter("one", func(s *pad.Pad) string { l.must(s.Set(core.RunScope, "n", "one")); return "one" })
	one.spec.Delivery = core.AtMostOnce
	l.tools["one"] = one
}

// written waits until a commit contains the outcome of the call o of that tool.
func (l *longRound) written() {
	for l.head().Calls["o"].Status != core.CallSucceeded {
		runtime.Gosched()
	}
}

func TestDecisionsWhileBodiesRun(t *testing.T) {
	t.Run("RD-1 an approved call starts beside a body that runs, once its decision and its intent are committed", func(t *testing.T) {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`)))
		l.tool("pay", toolRule{effect: core.Ask, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			defer close(l.release)
			h := l.head()
			if c := h.Calls["p"]; len(h.Inbox) != 0 || c.Status != core.CallRunning || c.IntentEpoch != h.Epoch || !c.Approved {
				t.Errorf("the body begins, and the head says %s", core.Encode(h))
			}
			return core.Outcome{Text: "paid"}, nil
		}})
		l.start("hi")
		l.whileSlow(func() { l.must(l.decide("p", resume("d", `true`))) })
		if l.stopped != nil {
			t.Errorf("the other body was stopped: %v", l.stopped)
		}
		l.work()
		l.wantRun(core.RunDone, core.NaturalEnd)
		l.wantRan("slow{}", "pay{}")
		l.wantConversation("user: hi", "assistant[p][s]", "tool(p): paid", "tool(s): slow did it", "assistant: done")
	})
	t.Run("a decision that refuses is journaled beside a body that runs", func(t *testing.T) {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`)))
		l.start("hi")
		l.whileSlow(func() {
			l.must(l.decide("p", core.Resume{DecisionID: "d", Action: core.ActionCancel, Reason: "no"}))
			l.drained()
			if got := l.head().Calls["p"].Status; got != core.CallCancelled {
				t.Errorf("the call is %s", got)
			}
		})
		l.work()
		l.wantRan("slow{}")
		l.wantConversation("user: hi", "assistant[p][s]", "tool(p): Not approved: the call did not run. Reason: no", "tool(s): slow did it", "assistant: done")
	})
	t.Run("one after the other, an approved call comes before those that have not started", func(t *testing.T) {
		l := newLongRound(t, false, calls(call("p", "pay", `{}`), call("s", "slow", `{}`), call("e", "echo", `{}`)))
		l.start("hi")
		l.whileSlow(func() {
			l.must(l.decide("p", resume("d", `true`)))
			l.seen()
			close(l.release)
		})
		l.work()
		l.wantRan("slow{}", "pay{}", "echo{}")
	})
	t.Run("RD-4 after a pause the running bodies end, and no other begins", func(t *testing.T) {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`)))
		l.start("hi")
		l.whileSlow(func() {
			l.must(l.decide("p", resume("d", `true`)))
			l.must(l.interrupt("stop"))
			l.drained()
		})
		l.wantRun(core.RunWaiting, 0)
		l.wantRan("slow{}")
		id, _ := l.pausedOn()
		l.must(l.goOn(id))
		l.work()
		l.wantRun(core.RunDone, core.NaturalEnd)
		l.wantRan("slow{}", "pay{}")
	})
	t.Run("a run that ends stops its bodies first", func(t *testing.T) {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`), call("o", "one", `{}`)))
		l.writer()
		l.tool("pay", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
			if s.Get(core.RunScope, "n") != nil {
				return core.Verdict{Effect: core.Block, Reason: "not after one"}
			}
			return core.Verdict{Effect: core.Ask}
		}})
		l.start("hi")
		l.whileSlow(func() {
			l.written()
			l.must(l.decide("p", resume("d", `true`)))
		})
		if l.stopped == nil {
			t.Error("the body was not stopped")
		}
		l.work()
		l.wantRun(core.RunDone, core.Blocked)
		l.wantConversation("user: hi", "assistant[p][s][o]", "tool(p): Blocked: not after one",
			"tool(s): Cancelled: the run ended (blocked) while this call was running; it may or may not have taken effect.", "tool(o): saw one")
	})
	t.Run("H57 two bodies that overlap must not write one key, even if the outcome of one is committed", func(t *testing.T) {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`), call("o", "one", `{}`)))
		l.writer()
		slow := l.tools["slow"].body
		l.tool("slow", toolRule{effect: core.Allow, body: func(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
			l.must(req.State.Set(core.RunScope, "n", "slow"))
			return slow(ctx, req)
		}})
		l.tool("pay", toolRule{effect: core.Ask, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			defer close(l.release)
			return core.Outcome{Text: "paid"}, nil
		}})
		l.start("hi")
		l.whileSlow(func() {
			l.written()
			l.must(l.decide("p", resume("d", `true`)))
		})
		l.work()
		l.wantEnd(core.Failed, "state_conflict")
	})
}
