package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func (r *rig) interrupt(id string) error {
	return r.signal(core.KeyPause, core.Signal{Kind: core.SignalPause, ID: id})
}

// pausedOn is the call that an interrupted run waits on.
func (r *rig) pausedOn() (id string, c core.Call) {
	r.t.Helper()
	for id, c := range r.head().Calls {
		if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
			return id, c
		}
	}
	r.t.Fatalf("the run is not interrupted: %+v", r.head().Calls)
	return "", core.Call{}
}

func (r *rig) goOn(id string) error {
	pseudo, _ := r.pausedOn()
	return r.decide(pseudo, resume(id, ""))
}

func TestInterrupt(t *testing.T) {
	t.Run("HT7 before the first model call: nothing is asked until it is resumed", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.start("hi")
		r.must(r.interrupt("i1"))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(0)
		if h := r.head(); h.Pending != 0 || h.Oldest == "" {
			t.Errorf("pending %d, listed %q", h.Pending, h.Oldest)
		}
		r.must(r.goOn("d"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant: done")
	})
	t.Run("in the middle of a round: the calls that have not run wait, and run after it", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "once", `{}`), call("c3", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
		r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: "ok"}, r.interrupt("i1")
		}})
		r.start("go")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantRan("echo{}", "once{}") // the intent of the second was on its way
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSucceeded, "c2": core.CallSucceeded, "c3": core.CallNew})
		r.must(r.goOn("d"))
		r.work()
		r.wantCalls(map[string]core.CallStatus{"c3": core.CallSuspended})
		r.must(r.decide("c3", resume("d2", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: go", "assistant[c1][c2][c3]", "tool(c1): ok", "tool(c2): once did {}", "tool(c3): pay did {}", "assistant: done")
		r.wantAsked(2)
	})
	t.Run("a run whose last word was spoken ends when it is resumed, and the model is not asked again", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error { return r.interrupt("i1") }
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.must(r.goOn("d"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(1)
	})
	t.Run("one that waits for an approval waits for both", func(t *testing.T) {
		r := paying(t)
		r.must(r.interrupt("i1"))
		r.work()
		r.must(r.decide("c1", resume("d1", "")))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantRan()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallResuming})
		r.must(r.goOn("d2"))
		r.work()
		r.wantRan(`pay{"amount":5}`)
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("a message resumes it and is heard", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.start("hi")
		r.must(r.interrupt("i1"))
		r.work()
		r.must(r.say("m1", "go on, but be brief"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "user: go on, but be brief", "assistant: done")
	})
	t.Run("a message that is drained together with an interrupt does not undo it", func(t *testing.T) {
		for _, on := range []core.OnPending{core.PendingRefuse, core.PendingAbandon} {
			r := newRig(t, says("done"))
			r.start("hi")
			r.must(r.interrupt("i1"))
			r.clock.Advance(time.Millisecond)
			r.must(r.sayOn("m1", "and this", on))
			r.work()
			r.wantRun(core.RunWaiting, 0)
			r.wantAsked(0)
			r.must(r.goOn("d"))
			r.work()
			r.wantRun(core.RunDone, core.NaturalEnd)
			r.wantConversation("user: hi", "user: and this", "assistant: done")
		}
	})
	t.Run("it can be interrupted again, and cancelled", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.start("hi")
		r.must(r.interrupt("i1"))
		r.work()
		first, _ := r.pausedOn()
		r.must(r.goOn("d"))
		r.must(r.interrupt("i2"))
		r.work()
		second, _ := r.pausedOn()
		if first == second {
			t.Error("two interrupts share a suspension")
		}
		r.must(r.cancel())
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantConversation("user: hi")
	})
	t.Run("the time it stands still does not count, and the activation says why it ended", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		rule, err := stoprule.Spec{Type: "timeout", Seconds: 60}.Rule()
		r.must(err)
		r.terms.Stops = []core.StopRule{rule}
		r.start("hi")
		r.must(r.interrupt("i1"))
		r.work()
		r.clock.Advance(100 * time.Hour)
		r.must(r.goOn("d"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		found := false
		for _, e := range r.events() {
			found = found || e.Type == core.EventActivationEnded && string(e.Data) == `{"activation":1,"outcome":"interrupted","step":0}`
		}
		if !found {
			t.Error("no activation ended as interrupted")
		}
	})
	t.Run("an at-least-once body that a lost process began waits as well", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.store = &breaking{Store: r.db, at: 4, before: true, how: dies}
		r.build(engine.Options{})
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.must(r.interrupt("i1"))
		r.recover()
		r.wantRun(core.RunWaiting, 0)
		r.wantRan("echo{}")
		r.must(r.goOn("d"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "echo{}")
	})
}
