package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// A grant on the definition's rule must not lift what a hook's gate asks.
func TestAGrantDoesNotLiftWhatAHookAsks(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{"amount":1}`)), calls(call("c2", "pay", `{"amount":5000}`)), says("ok"))
	r.tool("pay", toolRule{effect: core.Ask, grant: "pay:rule1", reason: "rule"})
	p := r.watching("guard")
	p.gate = func(c core.ToolCall, _ core.State) *core.Verdict {
		if string(c.Arguments) == `{"amount":5000}` {
			return &core.Verdict{Effect: core.Ask, Reason: "guard asks: large"}
		}
		return nil
	}
	r.play()
	d := core.Resume{DecisionID: "d1", Action: core.ActionResume, Grant: core.GrantRun}
	r.must(r.decide("c1", d))
	r.work()
	if len(r.ran) > 1 {
		t.Errorf("c2 ran although the hook asks about it and no grant is the hook's: %v", r.ran)
	}
}

// The question that joins two asks bars whom either of them bars.
func TestAQuestionBarsWhomAHookBars(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)))
	r.ask("pay")
	r.watching("guard").gate = func(core.ToolCall, core.State) *core.Verdict {
		return &core.Verdict{Effect: core.Ask, NotBy: core.NotByStarter}
	}
	r.play()
	if got := r.suspended("c1").NotBy; got != core.NotByStarter {
		t.Errorf("not_by is %q", got)
	}
}

// A call let through by a grant stays approved when the state changes and another gate asks.
func TestAGrantCountsForTheVerdictItWasGivenOn(t *testing.T) {
	r := newRig(t, calls(call("c0", "pay", `{}`)), calls(call("a", "calc", `{}`), call("b", "pay", `{"n":2}`)), says("ok"))
	r.tool("pay", toolRule{effect: core.Ask, gate: func(c core.ToolCall, s core.State) core.Verdict {
		if s.Get(core.RunScope, "alarm") != nil {
			return core.Verdict{Effect: core.Ask, Reason: "alarm", Grant: "other"}
		}
		return core.Verdict{Effect: core.Ask, Grant: "k"}
	}})
	r.tool("calc", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		r.must(req.State.Set(core.RunScope, "alarm", true))
		return core.Outcome{Text: "alarm raised"}, nil
	}})
	r.play()
	r.must(r.decide("c0", core.Resume{DecisionID: "d1", Action: core.ActionResume, Grant: core.GrantRun}))
	r.work()
	if len(r.ran) > 2 {
		t.Errorf("b ran: %v", r.ran)
	}
}

// abandon on the wait of run start: the gate before the first step is lifted by any message.
func TestAbandoningTheWaitBeforeTheFirstStepIsNoYes(t *testing.T) {
	r := newRig(t, calls(call("c1", "echo", `{}`)), says("ok"))
	p := r.watching("guard")
	p.wants(core.RunStart, core.Effects{Wait: &core.SuspendTicket{Suspension: core.Suspension{Action: "approve", Message: "may this run begin?"}}})
	r.play()
	r.wantRun(core.RunWaiting, 0)
	r.must(r.signal(core.MessageKey("m1"), core.Signal{Kind: core.SignalMessage, On: core.PendingAbandon, Value: core.Encode(core.TextParts("never mind"))}))
	r.work()
	if len(r.ran) > 0 {
		t.Errorf("ran %v; run %v", r.ran, r.head().End)
	}
}

// In a parallel batch, what hooks wrote before all bodies is folded in after the body of an earlier
// call.
func TestHooksBeforeABatchCountBeforeItsBodies(t *testing.T) {
	r := newRig(t, calls(call("a", "wa", `{}`), call("b", "wb", `{}`)), says("ok"))
	r.terms.Parallel = true
	p := r.watching("h")
	p.at[core.BeforeToolExecute] = func(v visit) (core.Effects, error) {
		if v.call.ID == "b" {
			return sets("k", `"hook"`), nil
		}
		return core.Effects{}, nil
	}
	saw := ""
	r.writing("wa", func(p *pad.Pad) { saw = string(p.Get(core.RunScope, "k")); _ = p.Set(core.RunScope, "k", "body") })
	r.writing("wb", func(p *pad.Pad) {})
	r.play()
	if saw != `"hook"` {
		t.Errorf("the body saw %s", saw)
	}
	r.wantState(core.RunScope, "k", `"body"`)
}

// A counter that a hook keeps with Get and Set: refusing the second of a batch loses a count.
func TestAHookThatRefusesHasSeenThoseBefore(t *testing.T) {
	r := newRig(t, calls(call("a", "echo", `{}`), call("b", "calc", `{}`)), says("ok"))
	r.terms.Parallel = true
	p := r.watching("h")
	p.at[core.BeforeToolExecute] = func(v visit) (core.Effects, error) {
		var n int
		_ = json.Unmarshal(v.State.Get(core.RunScope, "n"), &n)
		e := sets("n", fmt.Sprint(n+1))
		if v.call.ID == "b" {
			e.Refuse = "no"
		}
		return e, nil
	}
	r.play()
	r.wantState(core.RunScope, "n", "2")
}

// Interrupt and resume while a call waits: what the head holds.
func TestInterruptsLeaveNothingInTheHead(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("ok"))
	r.ask("pay")
	r.play()
	for i := range 100 {
		r.must(r.signal(core.KeyPause, core.Signal{Kind: core.SignalPause, ID: fmt.Sprint(i)}))
		r.work()
		for id, c := range r.head().Calls {
			if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
				r.must(r.decide(id, core.Resume{DecisionID: fmt.Sprint("d", i), Action: core.ActionResume}))
			}
		}
		r.work()
	}
	h := r.head()
	if len(h.Calls) > 10 {
		t.Errorf("the head grows: %d calls", len(h.Calls))
	}
}

func TestAContinuingRunHasABoundOnOpenCalls(t *testing.T) {
	var turns []core.Turn
	for i := range 150 {
		turns = append(turns, calls(call(fmt.Sprint("p", i), "pay", `{}`), call(fmt.Sprint("e", i), "echo", `{}`)))
	}
	r := newRig(t, turns...)
	r.terms.Continue = true
	r.ask("pay")
	r.play()
	r.wantRun(core.RunWaiting, 0)
	open := 0
	for _, c := range r.head().Calls {
		if !c.Status.Terminal() {
			open++
		}
	}
	if open != plans.DefaultLimits.Calls || r.asked > 2*open {
		t.Errorf("%d calls are open after %d turns", open, r.asked)
	}
}

// The release after a step was refused by a decision, and a body of the step ran since.
func TestAStepThatWentOnEndsOnceMore(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "echo", `{}`)), says("ok"))
	r.tool("pay", toolRule{effect: core.Ask, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		r.must(req.State.Set(core.RunScope, "total", 100))
		return core.Outcome{Text: "paid"}, nil
	}})
	r.tool("echo", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		r.must(r.decide("c1", core.Resume{DecisionID: "d", Action: core.ActionResume}))
		return core.Outcome{Text: "e"}, nil
	}})
	p := r.watching("h")
	p.at[core.StepEnd] = func(v visit) (core.Effects, error) {
		var n int
		_ = json.Unmarshal(v.State.Get(core.RunScope, "total"), &n)
		return sets("total", fmt.Sprint(n+1)), nil
	}
	r.play()
	r.wantState(core.RunScope, "total", "102")
}

func TestAnApprovalDoesNotLiftAResultThatAGateGives(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("ok"))
	r.ask("pay")
	p := r.watching("dry run")
	p.gate = func(core.ToolCall, core.State) *core.Verdict {
		return &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "dry run: nothing paid"}}
	}
	r.play()
	r.must(r.decide("c1", core.Resume{DecisionID: "d", Action: core.ActionResume}))
	r.work()
	r.wantRan()
}

func TestAModelThatGoesOnIsToldOfHeldCallsAsOfWaitingOnes(t *testing.T) {
	r := newRig(t, calls(call("e1", "echo", `{}`), call("w", "wait", `{}`), call("e2", "other", `{}`)), says("x"))
	r.terms.Continue = true
	r.suspending("wait", core.ReplayToolCall, 1)
	shown := ""
	r.onAsk = func(_ context.Context, p engine.Prompt) error {
		for _, m := range p.Messages {
			shown += line(m) + fmt.Sprint(" error=", m.Error) + "\n"
		}
		return nil
	}
	r.play()
	if strings.Contains(shown, core.NoResult) {
		t.Error("the model is told that a call which will run has failed")
	}
	r.must(r.decide("w", core.Resume{DecisionID: "d", Action: core.ActionResume}))
	r.work()
}

func TestABudgetCountsEachCallOnceOverCrashes(t *testing.T) {
	for at := 1; at < 12; at++ {
		r := newRig(t, calls(call("a", "echo", `{}`), call("b", "calc", `{}`), call("c", "pay", `{}`)), calls(call("d", "echo", `{}`)), says("ok"))
		r.ask("pay")
		r.terms.RunCalls = 4
		r.start("hi")
		r.store = &breaking{Store: r.db, at: at, how: dies}
		r.build(engine.Options{})
		r.workOrDie()
		r.store = r.db
		r.build(engine.Options{})
		r.recover()
		if c := r.head().Calls["c"]; c.Status == core.CallSuspended {
			r.must(r.decide("c", core.Resume{DecisionID: "d", Action: core.ActionResume}))
		}
		r.work()
		if h := r.head(); h.ToolCalls != 4 || !slices.Contains(r.ran, "pay{}") {
			t.Error(at, h.ToolCalls, r.ran, h.Status, h.End, r.conversation())
		}
	}
}

func TestTheRunEndsOnceWhateverKeepsItFromEnding(t *testing.T) {
	r := newRig(t, says("done"), says("that too"))
	p := r.watching("h")
	r.onAsk = func(context.Context, engine.Prompt) error {
		if r.asked == 1 {
			return r.say("m1", "and this")
		}
		return nil
	}
	r.play()
	r.wantRun(core.RunDone, core.NaturalEnd)
	if p.times("run_end") != 1 {
		t.Errorf("hooks were called %v", p.order())
	}
}

// brokenStop is a hook whose stop rule panics.
type brokenStop struct{ *probe }

func (brokenStop) Stop(core.Progress) (code, detail string, stop bool) { panic("stop rule") }

func TestAStopRuleThatPanicsStopsTheRun(t *testing.T) {
	r := newRig(t, calls(call("c1", "echo", `{}`)), says("ok"))
	r.hooks = []engine.Hook{brokenStop{r.watching("h")}}
	r.play()
	r.wantRun(core.RunDone, core.Stopped)
	r.wantRan()
	if end := r.head().End; end.Code != "hook_failed" {
		t.Errorf("ended %+v", end)
	}
}

func TestAConflictOfHooksKeepsWhatBodiesDid(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("ok"))
	r.tool("pay", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
	r.watching("h1").wants(core.StepEnd, sets("k", "1"))
	r.watching("h2").wants(core.StepEnd, sets("k", "2"))
	r.play()
	r.wantRun(core.RunDone, core.Failed)
	r.wantConversation("user: hi", "assistant[c1]", "tool(c1): pay did {}")
	if end := r.head().End; end.Code != "state_conflict" {
		t.Errorf("ended %+v", end)
	}
}

func TestAnAnswerToAToolLiftsNothingThatARuleAsks(t *testing.T) {
	r := newRig(t, calls(call("c1", "wait", `{}`), call("c2", "echo", `{}`)), says("ok"))
	r.terms.Parallel = true
	n := 0
	r.tool("wait", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
		if s.Get(core.RunScope, "alarm") != nil {
			return core.Verdict{Effect: core.Ask, Reason: "alarm: is this still wanted?"}
		}
		return core.Verdict{Effect: core.Allow}
	}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		if n++; n == 1 {
			return core.Outcome{Ticket: &core.SuspendTicket{Suspension: core.Suspension{Action: "confirm", Message: "small or large?"}}}, nil
		}
		return core.Outcome{Text: "done"}, nil
	}})
	r.tool("echo", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		r.must(req.State.Set(core.RunScope, "alarm", true))
		return core.Outcome{Text: "x"}, nil
	}})
	r.play()
	r.must(r.decide("c1", core.Resume{DecisionID: "d", Action: core.ActionResume}))
	r.work()
	if n > 1 {
		t.Error("ran, and nobody was asked about the alarm")
	}
}

func TestAMemoryThatDoesNotReturnIsLeftBehind(t *testing.T) {
	r := newRig(t, says("ok"))
	started := make(chan struct{}, 10)
	r.memory = hanging{started}
	r.start("hi")
	r.stepThrough(started)
	for range 3 {
		r.stepThrough(started)
	}
	r.wantRun(core.RunDone, core.NaturalEnd)
	if r.count(core.EventMemoryFailed) == 0 {
		t.Error("its failure is not journaled")
	}
}

type hanging struct{ started chan<- struct{} }

func (h hanging) Recall(context.Context, engine.MemoryRequest) (string, error) {
	h.started <- struct{}{}
	select {}
}

func (h hanging) Commit(context.Context, engine.MemoryRequest) error { return nil }

func TestFinishLooksAtWhatCameOfItsTurnFirst(t *testing.T) {
	finishing := func(t *testing.T, sibling core.ToolCall) *rig {
		r := newRig(t, calls(sibling, call("f", "finish", `{"output":"paid!"}`)), says("more"))
		r.tool("finish", toolRule{effect: core.Allow, spec: core.ToolSpec{Finish: true}})
		return r
	}
	t.Run("C231 a sibling that a person refused", func(t *testing.T) {
		r := finishing(t, call("p", "pay", `{}`))
		r.ask("pay")
		r.play()
		r.must(r.decide("p", cancelled("d", "no")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if r.head().Finish != "" || r.asked != 2 {
			t.Errorf("finished by %q after %d turns", r.head().Finish, r.asked)
		}
	})
	t.Run("a message that came while its siblings ran", func(t *testing.T) {
		r := finishing(t, call("e", "echo", `{}`))
		r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: "x"}, r.say("m1", "one more thing")
		}})
		r.play()
		if r.head().Finish != "" || r.asked != 2 {
			t.Errorf("finished by %q after %d turns", r.head().Finish, r.asked)
		}
	})
}

func TestAnAnswerToABodyIsKeptOverAnApproval(t *testing.T) {
	r := newRig(t, calls(call("c1", "wait", `{}`), call("c2", "echo", `{}`)), says("ok"))
	r.terms.Parallel = true
	asked := 0
	r.tool("wait", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
		if s.Get(core.RunScope, "alarm") != nil {
			return core.Verdict{Effect: core.Ask, Reason: "alarm"}
		}
		return core.Verdict{Effect: core.Allow}
	}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		if req.Resume == nil {
			asked++
			return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.PassDecisionToTool, Suspension: core.Suspension{Action: "confirm", Message: "color?"}}}, nil
		}
		return core.Outcome{Text: "painted " + string(req.Resume.Result)}, nil
	}})
	r.tool("echo", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{Text: "x"}, req.State.Set(core.RunScope, "alarm", true)
	}})
	r.play()
	r.must(r.decide("c1", resume("d1", `"blue"`)))
	r.work()
	if c := r.head().Calls["c1"]; c.Kind != core.KindApproval || c.Status != core.CallSuspended {
		t.Fatalf("call %+v", c)
	}
	r.must(r.decide("c1", resume("d2", "")))
	r.work()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	r.wantConversation("user: hi", "assistant[c1][c2]", `tool(c1): painted "blue"`, "tool(c2): x", "assistant: ok")
}

func TestAGrantNeedsAnApprovalThatLetsTheCallRun(t *testing.T) {
	for _, mode := range []core.ResumeMode{core.UseDecisionAsToolResult, core.PassDecisionToTool} {
		r := newRig(t, calls(call("c1", "boss", `{}`)), calls(call("c2", "boss", `{}`)), says("ok"))
		r.tool("boss", toolRule{effect: core.Ask, mode: mode, grant: "boss/1"})
		r.play()
		if r.suspended("c1").Grantable {
			t.Errorf("%s: grantable", mode)
		}
		r.must(r.decide("c1", forTurn(resume("d1", `{"approved":true}`))))
		r.work()
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended})
	}
}
