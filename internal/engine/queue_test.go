package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// sayOn sends a message that says what becomes of a run that waits.
func (r *rig) sayOn(key, text string, on core.OnPending) error {
	return r.signal(core.MessageKey(key), core.Signal{Kind: core.SignalMessage, On: on, Value: core.Encode(core.TextParts(text))})
}

func TestMessagesToAWaitingRun(t *testing.T) {
	t.Run("C110 C201 HR10 abandon: results first, the message after, the same run goes on", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.start("go")
		r.work()
		run := r.head().Run
		r.must(r.sayOn("m1", "never mind", core.PendingAbandon))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}")
		r.wantConversation("user: go", "assistant[c1][c2]", "tool(c1): echo did {}",
			"tool(c2): Cancelled: the user sent a new message instead of an answer to this call.", "user: never mind", "assistant: done")
		if r.head().Run != run || r.count(core.EventCallCancelled) != 1 {
			t.Error("another run, or no cancelled call")
		}
	})
	t.Run("HR11 the message appears once however often it is worked on", func(t *testing.T) {
		r := paying(t)
		r.must(r.sayOn("m1", "never mind", core.PendingAbandon))
		r.store = &breaking{Store: r.db, at: 3, how: dies} // claim, journal, commit ✗
		r.build(engine.Options{})
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.recover()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Cancelled: the user sent a new message instead of an answer to this call.", "user: never mind", "assistant: done")
	})
	t.Run("abandon gives up held calls too", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wait", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.suspending("wait", core.ReplayToolCall, 1)
		r.start("go")
		r.work()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallNew})
		r.must(r.sayOn("m1", "stop that", core.PendingAbandon))
		r.work()
		r.wantRan("wait{}")
		r.wantConversation("user: go", "assistant[c1][c2]", "tool(c1): Cancelled: the user sent a new message instead of an answer to this call.",
			"tool(c2): Not run: the user sent a new message instead.", "user: stop that", "assistant: done")
	})
	t.Run("a decision that is stored while the message is on its way wins", func(t *testing.T) {
		r := paying(t)
		r.must(r.sayOn("m1", "never mind", core.PendingAbandon))
		r.store = &beforeCommit{Store: r.db, do: func() { r.must(r.decide("c1", resume("d1", ""))) }}
		r.build(engine.Options{})
		r.step()
		r.work()
		r.wantRan(`pay{"amount":5}`)
		r.wantConversation("user: pay 5", "assistant[c1]", `tool(c1): pay did {"amount":5}`, "user: never mind", "assistant: done")
	})
	t.Run("abandon and queue mean nothing to a run that does not wait", func(t *testing.T) {
		r := newRig(t, says("done"), says("again"))
		r.start("go")
		r.must(r.sayOn("m1", "and this", core.PendingAbandon))
		r.must(r.sayOn("m2", "and that", core.PendingQueue))
		r.work()
		r.wantConversation("user: go", "user: and this", "user: and that", "assistant: done")
	})
	t.Run("C110 queue: each message begins a run of its own, in order, when this one is done", func(t *testing.T) {
		r := paying(t)
		r.turns = append(r.turns, says("second done"), says("third done"))
		first := r.head().Run
		r.must(r.sayOn("m1", "then this", core.PendingQueue))
		r.clock.Advance(1_000_000)
		r.must(r.sayOn("m2", "then that", core.PendingQueue))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		if h := r.head(); len(h.Held) != 2 || len(h.Inbox) != 0 {
			t.Fatalf("held %v, inbox %v", h.Held, h.Inbox)
		}
		r.must(r.decide("c1", resume("d", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: pay 5", "assistant[c1]", `tool(c1): pay did {"amount":5}`, "assistant: done",
			"user: then this", "assistant: second done", "user: then that", "assistant: third done")
		if r.head().Run == first || len(r.head().Held) != 0 {
			t.Errorf("run %s, held %v", r.head().Run, r.head().Held)
		}
		old, err := r.db.Archived(r.ctx, "t", first)
		if err != nil || old.Status != core.RunDone || old.End == nil || old.End.Kind != core.NaturalEnd {
			t.Errorf("the first run is kept as %+v, %v", old, err)
		}
	})
	t.Run("a queued message's run keeps the permissions of the run that the message was sent to", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"), says("second done"), says("third done"))
		r.ask("pay")
		narrow := `{"deny":["refund"]}`
		r.startWith("pay 5", func(h *core.Head) { h.Narrow, h.NoMemory = []byte(narrow), true })
		r.work()
		r.must(r.sayOn("m1", "then this", core.PendingQueue))
		r.clock.Advance(time.Second)
		r.must(r.sayOn("m2", "then that", core.PendingQueue))
		r.work()
		var pins []string
		r.onLoad = func(p engine.Pin) { pins = append(pins, string(p.Narrow)) }
		r.must(r.decide("c1", resume("d", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(4)
		for _, pin := range pins {
			if pin != narrow {
				t.Errorf("a step loaded the agent with permissions %q, want %q", pin, narrow)
			}
		}
		if h := r.head(); string(h.Narrow) != narrow || !h.NoMemory {
			t.Errorf("the last run has permissions %q, no memory %v", h.Narrow, h.NoMemory)
		}
	})
	t.Run("queue survives a cancel of the run before, and a crash at any write in between", func(t *testing.T) {
		for at := 1; at <= 9; at++ {
			r := paying(t)
			r.turns = append(r.turns, says("second done"))
			r.must(r.sayOn("m1", "then this", core.PendingQueue))
			r.work()
			r.must(r.cancel())
			b := &breaking{Store: r.db, at: at, how: dies}
			r.store = b
			r.build(engine.Options{})
			r.workOrDie()
			r.recover()
			r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not run: the run ended first (cancelled).", "user: then this", "assistant: done")
			if r.head().Run == core.RunID(r.thread, 0) {
				t.Errorf("at %d: no run began", at)
			}
		}
	})
	t.Run("a message for later that is drained by the end of a run that does not wait begins a run, too", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{}`)), says("second done"))
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			r.must(r.sayOn("m1", "then this", core.PendingQueue))
			r.must(r.cancel())
			return core.Outcome{Text: "ok"}, nil
		}})
		r.start("go")
		first := r.head().Run
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: go", "assistant[c1]", "tool(c1): ok", "user: then this", "assistant: second done")
		if old, err := r.db.Archived(r.ctx, "t", first); err != nil || old.End == nil || old.End.Kind != core.Cancelled {
			t.Errorf("the first run is kept as %+v, %v", old, err)
		}
	})
	t.Run("a message for later is not lost with the end that it races", func(t *testing.T) {
		r := paying(t)
		r.turns = append(r.turns, says("second done"))
		r.must(r.decide("c1", cancelled("d", "no")))
		r.must(r.sayOn("m1", "then this", core.PendingQueue))
		r.must(r.cancel())
		r.work()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not run: the run ended first (cancelled).", "user: then this", "assistant: done")
	})
}
