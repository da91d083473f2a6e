package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestRounds(t *testing.T) {
	t.Run("C29 text only: one step, a natural end", func(t *testing.T) {
		r := newRig(t, says("hello"))
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant: hello")
		if h := r.head(); h.Step != 1 || h.Response != core.ResponseDone {
			t.Errorf("steps %d, response %q", h.Step, h.Response)
		}
	})
	t.Run("C30 an empty list of calls is a natural end without tool events", func(t *testing.T) {
		r := newRig(t, core.Turn{Text: "hello", Calls: []core.ToolCall{}})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		for _, e := range []core.EventType{core.EventCallReady, core.EventCallStarted, core.EventCallSucceeded} {
			if n := r.count(e); n != 0 {
				t.Errorf("%d events %s", n, e)
			}
		}
	})
	t.Run("C31 one tool, then text: two steps", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{"m":1}`)), says("done"))
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", `tool(c1): echo did {"m":1}`, "assistant: done")
		if h := r.head(); h.Step != 2 || h.Activations != 2 {
			t.Errorf("steps %d, activations %d", h.Step, h.Activations)
		}
	})
	t.Run("C32 events: run start first, run finish last, steps paired and never nested", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), calls(call("c2", "calc", `{}`)), says("done"))
		r.start("hi")
		r.work()
		events := r.events()
		if first, last := events[0], events[len(events)-1]; first.Type != core.EventRunStatus || last.Type != core.EventRunStatus {
			t.Errorf("first %s, last %s", first.Type, last.Type)
		}
		r.wantRun(core.RunDone, core.NaturalEnd) // and that steps are paired
	})
	t.Run("C38 a failure does not stop its siblings", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`), call("c3", "other", `{}`)), says("Done."))
		r.tool("calc", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{}, errors.New("no such number")
		}})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2): no such number", "tool(c3): other did {}", "assistant: Done.")
	})
	t.Run("C40 an unknown tool fails and the model goes on", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "nope", `{}`)), says("sorry"))
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", `tool(c1): There is no tool named "nope".`, "assistant: sorry")
		r.wantRan()
	})
	t.Run("C41 HA2 invalid arguments are refused before anybody is asked", func(t *testing.T) {
		for _, rule := range []toolRule{{effect: core.Ask, invalid: "amount is missing"}, {effect: core.Allow, invalid: "amount is missing", spec: core.ToolSpec{Client: true}}} {
			r := newRig(t, calls(call("c1", "pay", `{}`)), says("sorry"))
			r.tool("pay", rule)
			r.start("hi")
			r.work()
			r.wantRun(core.RunDone, core.NaturalEnd)
			if r.count(core.EventCallSuspended) != 0 || r.count(core.EventCallInvalid) != 1 {
				t.Errorf("suspended %d times, invalid %d times", r.count(core.EventCallSuspended), r.count(core.EventCallInvalid))
			}
			r.wantConversation("user: hi", "assistant[c1]", "tool(c1): The arguments are not valid: amount is missing", "assistant: sorry")
		}
	})
	t.Run("C42 C49 a tool that waits by itself holds the later calls; they run once it is settled", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "dangerous", `{}`), call("c2", "calc", `{}`)), says("done"))
		r.suspending("dangerous", core.ReplayToolCall, 1)
		r.start("run dangerous tool")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallNew})
		if hold := r.head().Calls["c2"].HeldBehind; hold != "c1" {
			t.Errorf("c2 is held behind %q", hold)
		}
		r.wantRan("dangerous{}")
		r.wantAsked(1)
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("dangerous{}", "dangerous{}", "calc{}")
		r.wantAsked(2)
		r.wantConversation("user: run dangerous tool", "assistant[c1][c2]", `tool(c1): {"attempts":2}`, "tool(c2): calc did {}", "assistant: done")
	})
	t.Run("C46 a call that must be approved does not stop the others", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallSucceeded})
		r.wantRan("echo{}")
	})
	t.Run("C47 all calls wait: nothing runs and the model is not asked again", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(1)
		r.wantRan()
	})
	t.Run("C48 a mixed round waits for all by default", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`), call("c3", "calc", `{}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(1)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSucceeded, "c2": core.CallSuspended, "c3": core.CallSucceeded})
	})
	t.Run("C52 a denied call fails with the reason and the model goes on", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("understood"))
		r.tool("pay", toolRule{effect: core.Deny, reason: "payments are closed"})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): Not allowed: payments are closed", "assistant: understood")
	})
	t.Run("HA5 a rule that asks nobody lets the body run", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.start("hi")
		r.work()
		if r.count(core.EventCallSuspended) != 0 {
			t.Error("somebody was asked")
		}
		r.wantRan("echo{}")
	})
	t.Run("a repeated call id gets a suffix that is used everywhere", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c1", "calc", `{}`)), calls(call("c1", "other", `{}`)), says("done"))
		r.start("hi")
		r.work()
		r.wantConversation("user: hi", "assistant[c1][c1_2]", "tool(c1): echo did {}", "tool(c1_2): calc did {}", "assistant[c1_3]",
			"tool(c1_3): other did {}", "assistant: done")
		if want := []string{"run_t_0/c1/0", "run_t_0/c1_2/0", "run_t_0/c1_3/0"}; !slices.Equal(r.keys, want) {
			t.Errorf("keys %v, want %v", r.keys, want)
		}
	})
	t.Run("more calls than a round may have are refused, the rest runs", func(t *testing.T) {
		var many []core.ToolCall
		for range 66 {
			many = append(many, call("c", "echo", `{}`))
		}
		r := newRig(t, calls(many...), says("done"))
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if len(r.ran) != 64 {
			t.Errorf("%d bodies ran, want 64", len(r.ran))
		}
	})
	t.Run("the model ends a recording: stopped, nothing added", func(t *testing.T) {
		r := newRig(t)
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.Stopped)
		r.wantConversation("user: hi")
		if h := r.head(); h.End.Code != "recording_ended" || h.Step != 0 {
			t.Errorf("end %+v after %d steps", h.End, h.Step)
		}
	})
}

func TestRunCounters(t *testing.T) {
	t.Run("C20 C21 C23 the step count survives a wait and the end, and a new run starts clean", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), calls(call("c2", "echo", `{}`)), calls(call("c3", "pay", `{}`)), says("done"), says("again"))
		r.ask("pay")
		r.start("hi")
		r.work()
		if h := r.head(); h.Status != core.RunWaiting || h.Step != 3 || h.End != nil {
			t.Fatalf("waiting: %s after %d steps, end %+v", h.Status, h.Step, h.End)
		}
		r.must(r.decide("c3", resume("d", "")))
		r.step()
		if h := r.head(); h.Step < 3 || h.End != nil && h.Step != 4 {
			t.Errorf("on its way: %d steps", h.Step)
		}
		r.work()
		old := r.head()
		if old.Status != core.RunDone || old.Step != 4 || old.Resumes != 1 {
			t.Fatalf("done: %s after %d steps, %d resumes", old.Status, old.Step, old.Resumes)
		}
		r.follow(old, "and now?")
		if h := r.head(); h.Status != core.RunCreated || h.Step != 0 || h.End != nil || h.Run == old.Run {
			t.Errorf("the new run is %s with %d steps, end %+v", h.Status, h.Step, h.End)
		}
		kept, err := r.db.Archived(r.ctx, "t", old.Run)
		if err != nil || kept.Step != 4 || kept.Status != core.RunDone {
			t.Errorf("the old run's record is %+v (%v)", kept, err)
		}
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if h := r.head(); h.Step != 1 {
			t.Errorf("the new run has %d steps", h.Step)
		}
	})
}

// follow starts the next run of the thread.
func (r *rig) follow(prior core.Head, input string) {
	r.t.Helper()
	h := prior.Succeed("v1", core.Signal{Kind: core.SignalStart, Value: core.Encode(core.TextParts(input)), At: r.now()}, r.now())
	_, err := r.db.Start(r.ctx, engine.StartRequest{Head: h, Prior: &prior, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
}
