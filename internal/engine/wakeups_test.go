package engine_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

func TestWakeups(t *testing.T) {
	t.Run("C178 a second wake-up finds the claim and is dropped; the signal that came with it is drained by the owner", func(t *testing.T) {
		r := newRig(t, says("done"), says("that too"))
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked > 1 {
				return nil
			}
			r.must(r.say("m1", "and this"))
			report, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
			if err != nil || report.Outcome != engine.Dropped {
				t.Errorf("the second wake-up: %+v, %v", report, err)
			}
			return nil
		}
		r.start("go")
		r.step()
		if h := r.head(); len(h.Inbox) != 0 || h.Status != core.RunRunning {
			t.Errorf("the owner left the run %s with %v", h.Status, h.Inbox)
		}
		r.work()
		r.wantConversation("user: go", "assistant: done", "user: and this", "assistant: that too")
	})
	t.Run("C197 a run whose wake-up was never sent is woken once, by two sweeps as by one", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.start("go")
		sent, err := r.db.Receive(r.ctx, 10)
		r.must(err)
		for _, d := range sent {
			r.must(r.db.Ack(r.ctx, d)) // lost
		}
		r.clock.Advance(6 * time.Second)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		woken, err := r.db.Receive(r.ctx, 10)
		r.must(err)
		if len(woken) != 1 {
			t.Errorf("%d wake-ups", len(woken))
		}
		r.step()
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("HA13 the last events of a run that waits say so, with what it waits for", func(t *testing.T) {
		r := paying(t)
		events := r.events()
		last := events[len(events)-3:]
		if last[0].Type != core.EventTurnEnded || last[1].Type != core.EventActivationEnded || last[2].Type != core.EventRunStatus {
			t.Fatalf("the last events are %s %s %s", last[0].Type, last[1].Type, last[2].Type)
		}
		var ended struct {
			Status  string
			Pending []struct {
				CallID     string `json:"call_id"`
				Suspension string
			}
		}
		r.must(json.Unmarshal(last[0].Data, &ended))
		if ended.Status != "suspended" || len(ended.Pending) != 1 || ended.Pending[0].CallID != "c1" || ended.Pending[0].Suspension != r.head().Calls["c1"].Sus {
			t.Errorf("it ended with %s", last[0].Data)
		}
	})
}

func TestEndsThatOvertake(t *testing.T) {
	// a run that goes on with c1 open, and whose model then fails for good
	failing := func(t *testing.T) *rig {
		r := newRig(t, calls(call("c0", "echo", `{}`), call("c1", "pay", `{}`)), says("never said"))
		r.ask("pay")
		r.terms.Continue = true
		r.onAsk = func(_ context.Context, p engine.Prompt) error {
			if p.Step == 2 {
				return &engine.ModelError{Detail: "no credit"}
			}
			return nil
		}
		return r
	}
	t.Run("HF1 a run that ends in error closes the unanswered call with a result that says so", func(t *testing.T) {
		r := failing(t)
		r.start("go")
		r.work()
		r.wantRun(core.RunDone, core.Failed)
		r.wantConversation("user: go", "assistant[c0][c1]", "tool(c0): echo did {}", "tool(c1): Not run: the run ended first (error: model_error).")
	})
	t.Run("HF4 a message that waited behind it is kept and begins the next run", func(t *testing.T) {
		r := failing(t)
		first := r.onAsk
		r.onAsk = func(ctx context.Context, p engine.Prompt) error {
			if r.asked == 2 {
				r.must(r.sayOn("m1", "later", core.PendingQueue))
				return first(ctx, p)
			}
			return nil
		}
		r.start("go")
		r.work()
		if r.head().Run == core.RunID(r.thread, 0) {
			t.Fatal("no run began")
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		if last := r.conversation(); last[len(last)-2] != "user: later" {
			t.Errorf("conversation %v", last)
		}
	})
	t.Run("HT6 a stop rule leaves no call of its turn running", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.ask("pay")
		rule, err := stoprule.Spec{Type: "stop_on_tool", ToolName: "echo"}.Rule()
		r.must(err)
		r.terms.Stops = []core.StopRule{rule}
		r.start("go")
		r.work()
		r.wantRun(core.RunDone, core.Stopped)
		r.wantRan()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallCancelled, "c2": core.CallCancelled})
	})
	t.Run("HF6 an at-least-once body gets the same arguments and key each time, and at most three begin", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{"a":1}`)), says("done"))
		r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { panic(lost{}) }})
		r.start("go")
		for range 8 {
			r.store = &breaking{Store: r.db, at: 5, before: true, how: dies}
			r.build(engine.Options{})
			r.stepOrDie()
			r.clock.Advance(3 * time.Minute)
			if r.head().Status == core.RunDone {
				break
			}
		}
		if len(r.ran) > 3 {
			t.Errorf("%d bodies began", len(r.ran))
		}
		for i := range r.keys {
			if r.keys[i] != r.keys[0] || r.ran[i] != r.ran[0] {
				t.Errorf("bodies %v with keys %v", r.ran, r.keys)
			}
		}
	})
	t.Run("HR16 the next run of a thread has its history", func(t *testing.T) {
		r := newRig(t, says("hello"), says("again"))
		r.start("hi")
		r.work()
		r.follow(r.head(), "once more")
		r.work()
		r.wantConversation("user: hi", "assistant: hello", "user: once more", "assistant: again")
	})
}
