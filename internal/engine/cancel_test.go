package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

func rigRandom(t *testing.T) engine.Random { return enginetest.NewRandom(t, 13) }

// blocking is a tool whose body waits until it is stopped, and then does stop says.
func (r *rig) blocking(name string, started chan<- struct{}, stop func(ctx context.Context) (core.Outcome, error)) {
	r.tool(name, toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
		close(started)
		return stop(ctx)
	}})
}

// whileRunning does a step in the background, calls f once started is closed, and moves the clock
// until the step ends.
func (r *rig) whileRunning(started <-chan struct{}, f func()) {
	r.t.Helper()
	r.whileRunningUntil(started, f, func() bool { return false })
}

// whileRunningUntil is whileRunning with a clock that stands still from told on: what ends by
// itself then is not left behind because the machine is busy.
func (r *rig) whileRunningUntil(started <-chan struct{}, f func(), told func() bool) {
	r.t.Helper()
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		r.step()
	})
	<-started
	f()
	for {
		select {
		case <-done:
			wg.Wait()
			return
		default:
			if told() {
				<-done
				continue
			}
			r.clock.Advance(500 * time.Millisecond)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Run("C167 C189 cancelled before the first model call: no step", func(t *testing.T) {
		r := newRig(t, says("hello"))
		r.start("hi")
		r.must(r.cancel())
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantAsked(0)
		if h := r.head(); h.Step != 0 {
			t.Errorf("%d steps", h.Step)
		}
		r.wantConversation("user: hi")
	})
	t.Run("C168 cancelled while the model speaks: soon done, no tool runs", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		started := make(chan struct{})
		r.onAsk = func(ctx context.Context, _ engine.Prompt) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
		r.start("hi")
		r.whileRunning(started, func() { r.must(r.cancel()) })
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan()
	})
	t.Run("C168 cancelled while the model answers: the turn stays, none of its calls runs", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error { return r.cancel() }
		r.start("hi")
		r.step()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): Not run: the run ended first (cancelled).")
	})
	t.Run("C169 cancelled during a body that ends: its result is in the journal", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{}`), call("c2", "echo", `{}`)), says("done"))
		started := make(chan struct{})
		var body atomic.Pointer[context.Context]
		r.tool("slow", toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
			body.Store(&ctx)
			close(started)
			<-ctx.Done()
			return core.Outcome{Text: "finished anyway"}, nil
		}})
		r.start("hi")
		r.whileRunningUntil(started, func() { r.must(r.cancel()) }, func() bool { return (*body.Load()).Err() != nil })
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): finished anyway", "tool(c2): Not run: the run ended first (cancelled).")
		done := 0
		for _, e := range r.events() {
			if e.Type == core.EventRunStatus && strings.Contains(string(e.Data), `"cancelled"`) {
				done++
			}
		}
		if done != 1 {
			t.Errorf("%d notes of the cancel", done)
		}
	})
	t.Run("C169 cancelled during a body that is stopped: the call is cancelled with a result", func(t *testing.T) {
		for _, stop := range []func(context.Context) (core.Outcome, error){
			func(ctx context.Context) (core.Outcome, error) { <-ctx.Done(); return core.Outcome{}, ctx.Err() },
			func(context.Context) (core.Outcome, error) { select {} }, // never ends
		} {
			r := newRig(t, calls(call("c1", "slow", `{}`)), says("done"))
			started := make(chan struct{})
			r.blocking("slow", started, stop)
			r.start("hi")
			r.whileRunning(started, func() { r.must(r.cancel()) })
			r.wantRun(core.RunDone, core.Cancelled)
			r.wantCalls(map[string]core.CallStatus{"c1": core.CallCancelled})
			last := r.conversation()
			if !strings.Contains(last[len(last)-1], "may or may not have taken effect") {
				t.Errorf("conversation %v", last)
			}
		}
	})
	t.Run("C171 HB16 cancelled while waiting: every open call is closed with a result", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "dangerous", `{}`), call("c3", "echo", `{}`)), says("done"))
		r.ask("pay")
		r.suspending("dangerous", core.ReplayToolCall, 1)
		r.start("hi")
		r.work()
		r.must(r.cancel())
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallCancelled, "c2": core.CallCancelled, "c3": core.CallCancelled})
		wellFormed(t, core.TranscriptOf(r.log()))
		if r.count(core.EventCallCancelled) != 3 {
			t.Errorf("%d calls cancelled", r.count(core.EventCallCancelled))
		}
	})
	t.Run("a decision drained with a cancel is journaled as not applied", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", resume("d", `true`)))
		r.must(r.cancel())
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan()
		found := false
		for _, e := range r.events() {
			if e.Type == core.EventDecisionRecorded {
				found = true
				if strings.Contains(string(e.Data), `"applied":true`) {
					t.Errorf("recorded as %s", e.Data)
				}
			}
		}
		if !found {
			t.Error("the decision is not in the journal")
		}
	})
	t.Run("H7 a message during the last model call keeps the run open", func(t *testing.T) {
		r := newRig(t, says("bye"), says("yes, also that"))
		first := true
		r.onAsk = func(context.Context, engine.Prompt) error {
			if !first {
				return nil
			}
			first = false
			return r.say("m1", "one more thing")
		}
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant: bye", "user: one more thing", "assistant: yes, also that")
	})
	t.Run("H6 a decision stored while the run is released to waiting is not left behind", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "slow", `{}`)), says("done"))
		r.ask("pay")
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: "ok"}, r.decide("c1", resume("d", `true`))
		}})
		r.start("hi")
		r.step()
		if h := r.head(); len(h.Inbox) != 0 || h.Status == core.RunWaiting {
			t.Errorf("status %s, inbox %v", h.Status, h.Inbox)
		}
	})
	t.Run("C172 50 callers signal one run: each success is in the journal", func(t *testing.T) {
		r := newRig(t, says("one"), says("two"))
		r.start("hi")
		var mu sync.Mutex
		var wg sync.WaitGroup
		stored := map[string]bool{}
		for i := range 50 {
			wg.Go(func() {
				key := string(rune('A'+i%26)) + string(rune('a'+i/26))
				if r.say(key, "message "+key) == nil {
					mu.Lock()
					stored["message "+key] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		r.work()
		for _, m := range r.log() {
			delete(stored, m.Text())
		}
		if len(stored) != 0 {
			t.Errorf("lost: %v", stored)
		}
	})
}

func TestTime(t *testing.T) {
	t.Run("C183 a body that is stopped near the end of the lease fails with a result; at most once, a person is asked", func(t *testing.T) {
		for _, delivery := range []core.Delivery{core.AtLeastOnce, core.AtMostOnce} {
			r := newRig(t, calls(call("c1", "slow", `{}`)), says("done"))
			started := make(chan struct{})
			r.blocking("slow", started, func(ctx context.Context) (core.Outcome, error) { <-ctx.Done(); return core.Outcome{}, ctx.Err() })
			rule := r.tools["slow"]
			rule.spec.Delivery = delivery
			r.tools["slow"] = rule
			r.start("hi")
			r.whileRunning(started, func() {})
			if delivery == core.AtMostOnce {
				r.wantRun(core.RunWaiting, 0)
				if s := r.suspended("c1"); s.Kind != core.KindUnknownOutcome {
					t.Errorf("suspended as %s", s.Kind)
				}
				continue
			}
			r.wantCalls(map[string]core.CallStatus{"c1": core.CallFailed})
		}
	})
	t.Run("a model that fails for a while is tried again at a committed time", func(t *testing.T) {
		r := newRig(t, says("hello"))
		failures := 2
		r.onAsk = func(context.Context, engine.Prompt) error {
			if failures--; failures >= 0 {
				return errors.Join(engine.ErrTryAgain)
			}
			return nil
		}
		r.start("hi")
		r.work()
		if h := r.head(); h.Status != core.RunRunning || h.NotBefore <= r.now() || h.Lease != 0 {
			t.Fatalf("status %s, not before %d, lease %d", h.Status, h.NotBefore, h.Lease)
		}
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("H32 a stray wake-up was claimed: %s", report.Outcome)
		}
		for range 2 {
			r.clock.Advance(10 * time.Second)
			r.work()
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant: hello")
	})
	t.Run("a round that nears the end of its lease goes on in the next activation, nothing done twice", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{"n":1}`), call("c2", "slow", `{"n":2}`), call("c3", "slow", `{"n":3}`)), says("done"))
		r.tool("slow", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			r.clock.Advance(50 * time.Second)
			return core.Outcome{Text: "ok " + string(req.Call.Arguments)}, nil
		}})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan(`slow{"n":1}`, `slow{"n":2}`, `slow{"n":3}`)
		r.wantAsked(2)
		if n, steps := r.count(core.EventActivationEnded), r.count(core.EventStepEnded); n != 2 || steps != 2 {
			t.Errorf("%d activations, %d steps ended", n, steps)
		}
	})
	t.Run("a process frozen past its lease before a body hands the run over; the call does not fail for it", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.store = &freezing{Store: r.db, r: r, when: func(req engine.CommitRequest) bool { return req.Next.Step == 1 && len(r.ran) == 0 }}
		r.build(engine.Options{})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}")
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): echo did {}", "assistant: done")
	})
	t.Run("an agent that can never be loaded ends in a crash loop, not in a hot potato", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.eng = engine.New(engine.Options{Store: r.db, Waker: r.db, Agents: downAgents{}, Clock: restless{r.clock}, Random: r.random})
		r.start("hi")
		for range 10 {
			_, _ = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
			r.clock.Advance(3 * time.Minute)
		}
		r.wantRun(core.RunDone, core.Failed)
		if c := r.head().End.Code; c != "crash_loop" {
			t.Errorf("code %q", c)
		}
	})
	t.Run("a body is stopped at the next look after another owner took the run over", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{}`)), says("done"))
		started, causes := make(chan struct{}), make(chan error, 1)
		r.tool("slow", toolRule{effect: core.Allow, body: func(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
			if req.Again {
				return core.Outcome{Text: "ok"}, nil
			}
			close(started)
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return core.Outcome{}, ctx.Err()
		}})
		r.start("hi")
		r.whileRunning(started, func() {
			other := engine.New(engine.Options{Store: r.db, Waker: r.db, Agents: r, Clock: ahead{r.clock, time.Hour}, Random: rigRandom(t)})
			for range 2 {
				_, err := other.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
				r.must(err)
			}
		})
		if cause := <-causes; !errors.Is(cause, engine.ErrFenced) {
			t.Errorf("the body was stopped because %v, want %v", cause, engine.ErrFenced)
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): ok", "assistant: done")
	})
	t.Run("C183 a stale owner's commit is refused and its step stops", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{}`)), says("done"))
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			// another owner, whose clock is ahead, takes the run and finishes it
			// meanwhile
			if len(r.ran) == 1 {
				other := engine.New(engine.Options{Store: r.db, Waker: r.db, Agents: r, Clock: ahead{r.clock, time.Hour}, Random: rigRandom(t)})
				for range 2 {
					if _, err := other.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); err != nil {
						return core.Outcome{}, err
					}
				}
			}
			return core.Outcome{Text: "ok"}, nil
		}})
		r.start("hi")
		if report := r.step(); report.Outcome != engine.Fenced {
			t.Errorf("outcome %s", report.Outcome)
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): ok", "assistant: done")
	})
}

type downAgents struct{}

func (downAgents) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{}, errors.New("the registry is on fire")
}

// Newest implements [engine.Agents].
func (downAgents) Newest(context.Context, string, string) (string, error) { return "v1", nil }
