package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestModelFailures(t *testing.T) {
	t.Run("C70 C195 one that does not pass: first the start of the run, last its end with the error, the message done with", func(t *testing.T) {
		r := newRig(t)
		r.onAsk = func(context.Context, engine.Prompt) error { return &engine.ModelError{Detail: "no credit"} }
		r.play()
		r.wantEnd(core.Failed, "model_error")
		events := r.events()
		first, last := events[0], events[len(events)-1]
		if first.Type != core.EventRunStatus || !strings.Contains(string(first.Data), `"running"`) {
			t.Errorf("the first event is %s %s", first.Type, first.Data)
		}
		if last.Type != core.EventRunStatus || !strings.Contains(string(last.Data), `"done_reason":"error"`) {
			t.Errorf("the last event is %s %s", last.Type, last.Data)
		}
		if end := r.head().End; end.Detail != "no credit" {
			t.Errorf("end %+v", end)
		}
		r.wantAsked(1)
		if got, err := r.db.Receive(r.ctx, 1); err != nil || len(got) != 0 {
			t.Errorf("messages left: %v (%v)", got, err)
		}
	})
	t.Run("C195 HF14 one that may pass: the time of the next try is committed, nobody waits for it, the same step is tried again", func(t *testing.T) {
		r := newRig(t, says("done"))
		var steps []int
		r.onAsk = func(_ context.Context, p engine.Prompt) error {
			if steps = append(steps, p.Step); len(steps) < 3 {
				return fmt.Errorf("busy: %w", engine.ErrTryAgain)
			}
			return nil
		}
		r.start("hi")
		r.step()
		h := r.head()
		if h.Status != core.RunRunning || h.Lease != 0 || h.NotBefore <= r.now() || h.Due < h.NotBefore || h.ModelTries != 1 {
			t.Errorf("after the first try: status %s, lease %d, not before %d, due %d, now %d", h.Status, h.Lease, h.NotBefore, h.Due, r.now())
		}
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("before that time a step is %s", report.Outcome)
		}
		r.patiently()
		r.wantEnd(core.NaturalEnd, "")
		if fmt.Sprint(steps) != "[1 1 1]" || r.head().Step != 1 || r.head().ModelTries != 0 {
			t.Errorf("asked for the steps %v; %+v", steps, r.head().Counters)
		}
		if r.count(core.EventStepStarted) != 1 {
			t.Errorf("%d steps started", r.count(core.EventStepStarted))
		}
	})
	t.Run("HF14 a message to a run that pauses is not lost, and the tries are not forgotten for it", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked < 3 {
				return engine.ErrTryAgain
			}
			return nil
		}
		r.start("hi")
		r.step()
		r.must(r.say("m1", "hello?"))
		r.patiently()
		r.wantConversation("user: hi", "user: hello?", "assistant: done")
	})
	t.Run("hooks of a step are called for each try, those of the run once", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked < 3 {
				return engine.ErrTryAgain
			}
			return nil
		}
		p := r.watching("p")
		p.wants(core.BeforeInference, adds("n", "1"))
		r.start("hi")
		r.patiently()
		if p.times("before_inference") != 3 || p.times("run_start") != 1 || p.times("step_end") != 1 || p.times("run_end") != 1 {
			t.Errorf("hooks were called %v", p.order())
		}
		r.wantState(core.RunScope, "n", "1")
	})
}

func TestStepPartial(t *testing.T) {
	t.Run("HA10 a round that runs out of time is gone on with in the next activation, the model not asked again", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "slow", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			r.clock.Advance(100 * time.Second) // of the 110 that an activation has
			return core.Outcome{Text: "took long"}, nil
		}})
		p := r.watching("p")
		r.start("hi")
		r.step()
		h := r.head()
		if h.Status != core.RunRunning || !h.StepOpen || h.Step != 1 || h.Calls["c1"].Status != core.CallSucceeded || h.Calls["c2"].Status != core.CallNew {
			t.Errorf("after the first activation: %+v", h)
		}
		outcome := ""
		for _, e := range r.events() {
			if e.Type == core.EventActivationEnded {
				outcome = string(e.Data)
			}
		}
		if !strings.Contains(outcome, events.ActivationPartial) || !strings.Contains(outcome, `"step":1`) {
			t.Errorf("the activation ended with %s", outcome)
		}
		r.wantAsked(1)
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		r.wantRan("slow{}", "echo{}")
		r.wantAsked(2)
		if p.times("step_start") != 2 || p.times("step_end") != 2 {
			t.Errorf("hooks were called %v", p.order())
		}
	})
	t.Run("HA10 a replay that takes long leaves the model call to the next activation", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.tool("pay", toolRule{effect: core.Ask, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			r.clock.Advance(100 * time.Second)
			return core.Outcome{Text: "paid"}, nil
		}})
		r.play()
		r.must(r.decide("c1", resume("d", `true`)))
		r.step()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSucceeded})
		r.wantAsked(1)
		if h := r.head(); h.Status != core.RunRunning || h.Lease != 0 || h.Due == 0 {
			t.Errorf("after the replay: %s, lease %d, due %d", h.Status, h.Lease, h.Due)
		}
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		r.wantAsked(2)
	})
	t.Run("HA10 side by side, what did not begin is begun in the next", func(t *testing.T) {
		r := newRig(t, calls(call("u1", "unlock", `{}`), call("g1", "guarded", `{}`)), says("done"))
		r.terms.Parallel = true
		r.guarding(core.Deny)
		unlock := r.tools["unlock"].body
		r.tool("unlock", toolRule{effect: core.Allow, body: func(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
			r.clock.Advance(100 * time.Second)
			return unlock(ctx, req)
		}})
		r.start("hi")
		r.step()
		r.wantRan("unlock{}")
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		r.wantRan("unlock{}", "guarded{}")
	})
}

func TestStopFromOutside(t *testing.T) {
	t.Run("HT1 HT2 HT5 a stop is stored at once and honoured at the next look", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), calls(call("c2", "echo", `{}`)), says("done"))
		r.start("hi")
		r.step()
		r.must(r.cancel()) // by another process: all it touches is the store
		if h := r.head(); h.Status != core.RunRunning || h.End != nil {
			t.Errorf("the request itself ended the run: %+v", h)
		}
		r.build(engine.Options{})
		r.work()
		r.wantEnd(core.Cancelled, "")
		r.wantAsked(1)
		r.wantRan("echo{}")
		events := r.events()
		if last := events[len(events)-1]; last.Type != core.EventRunStatus || !strings.Contains(string(last.Data), `"cancelled"`) {
			t.Errorf("the last event is %s %s", last.Type, last.Data)
		}
	})
	t.Run("HT5 HT7 stopped while it waits: ended, every open call cancelled with a result; nothing is accepted after", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "upload", `{}`), call("c3", "wizard", `{}`), call("c4", "echo", `{}`)), says("done"))
		r.ask("pay")
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.suspending("wizard", core.ReplayToolCall, 1)
		r.play()
		r.wantRun(core.RunWaiting, 0)
		sus := r.head().Calls["c1"].Sus
		r.must(r.cancel())
		r.work()
		r.wantEnd(core.Cancelled, "")
		for _, id := range []string{"c1", "c2", "c3", "c4"} {
			if got := r.resultOf(id); got != "Not run: the run ended first (cancelled)." {
				t.Errorf("the result of %s is %q", id, got)
			}
		}
		wellFormed(t, core.TranscriptOf(r.log()))
		if r.decideOn("c1", sus, resume("d", `true`)) == nil || r.cancel() == nil {
			t.Error("something was accepted after the end")
		}
	})
	t.Run("HT7 stopped between two bodies that are begun and not: what may have taken effect says so", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "once", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
		store := &failing{Store: r.db}
		r.store = store
		r.build(engine.Options{})
		r.watching("p").does(core.AfterToolExecute, func(visit) { store.next = true })
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.must(r.cancel())
		r.recover()
		r.wantEnd(core.Cancelled, "")
		if got := r.resultOf("c1"); !strings.Contains(got, "may or may not have taken effect") {
			t.Errorf("the result of c1 is %q", got)
		}
	})
}
