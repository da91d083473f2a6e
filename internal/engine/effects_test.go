package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// prompts keeps what the model is asked.
func (r *rig) prompts() *[]engine.Prompt {
	var kept []engine.Prompt
	r.onAsk = func(_ context.Context, p engine.Prompt) error {
		kept = append(kept, p)
		return nil
	}
	return &kept
}

func shows(p engine.Prompt, text string) bool {
	return slices.ContainsFunc(p.Messages, func(m core.Message) bool { return m.Text() == text })
}

func offered(p engine.Prompt) (names []string) {
	for _, tool := range p.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// echoing are n turns that call echo with their number, then a last word.
func echoing(n int) (turns []core.Turn) {
	for i := range n {
		turns = append(turns, calls(call(fmt.Sprint("c", i), "echo", fmt.Sprintf(`{"n":%d}`, i))))
	}
	return append(turns, says("done"))
}

func TestHooksShapeTheRequest(t *testing.T) {
	t.Run("C65 an override lives for one step", func(t *testing.T) {
		r := newRig(t, echoing(1)...)
		asked := r.prompts()
		r.watching("p").at[core.BeforeInference] = func(v visit) (core.Effects, error) {
			if v.Step > 1 {
				return core.Effects{}, nil
			}
			return core.Effects{Override: &core.Override{Instructions: "be brief", Parameters: map[string]any{"temperature": 0}}}, nil
		}
		r.play()
		for i, want := range []struct {
			instructions string
			parameters   int
		}{{"be brief", 1}, {"be helpful", 0}} {
			if p := (*asked)[i]; p.Instructions != want.instructions || len(p.Parameters) != want.parameters {
				t.Errorf("request %d has instructions %q, parameters %v", i+1, p.Instructions, p.Parameters)
			}
		}
	})
	t.Run("C67 context is in the request of its step and in no other, and not in the journal", func(t *testing.T) {
		r := newRig(t, echoing(1)...)
		asked := r.prompts()
		r.watching("p").at[core.BeforeInference] = func(v visit) (core.Effects, error) {
			if v.Step > 1 {
				return core.Effects{}, nil
			}
			return core.Effects{Context: []core.ContextMessage{{Key: "k", Text: "it rains"}}}, nil
		}
		r.play()
		if !shows((*asked)[0], "it rains") || shows((*asked)[1], "it rains") {
			t.Errorf("requests %+v", *asked)
		}
		r.wantConversation("user: hi", "assistant[c0]", `tool(c0): echo did {"n":0}`, "assistant: done")
	})
	t.Run("C68 a cooldown of 3: shown, left out twice, shown again; a new text passes", func(t *testing.T) {
		r := newRig(t, echoing(6)...)
		asked := r.prompts()
		r.watching("p").at[core.BeforeInference] = func(v visit) (core.Effects, error) {
			text := "old"
			if v.Step >= 6 {
				text = "new"
			}
			return core.Effects{Context: []core.ContextMessage{{Key: "k", Text: text, Cooldown: 3}}}, nil
		}
		r.play()
		var got []string
		for _, p := range *asked {
			switch {
			case shows(p, "old"):
				got = append(got, "old")
			case shows(p, "new"):
				got = append(got, "new")
			default:
				got = append(got, "-")
			}
		}
		if want := []string{"old", "-", "-", "old", "-", "new", "-"}; !slices.Equal(got, want) {
			t.Errorf("shown %v, want %v", got, want)
		}
	})
	t.Run("C68 a request that brought no turn does not count as shown", func(t *testing.T) {
		r := newRig(t, says("done"))
		shown, asks := 0, 0
		r.onAsk = func(_ context.Context, p engine.Prompt) error {
			if shows(p, "mind the step") {
				shown++
			}
			if asks++; asks == 1 {
				return engine.ErrTryAgain
			}
			return nil
		}
		r.watching("p").wants(core.BeforeInference, core.Effects{Context: []core.ContextMessage{{Key: "k", Text: "mind the step", Cooldown: 9}}})
		r.start("hi")
		r.patiently()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if shown != 2 {
			t.Errorf("shown %d times, want with both requests", shown)
		}
	})
	t.Run("C69 only a and b, without b: a", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "calc", `{}`), call("c2", "echo", `{}`)), says("done"))
		asked := r.prompts()
		r.watching("first").wants(core.BeforeInference, core.Effects{Include: []string{"echo", "calc"}})
		r.watching("second").wants(core.BeforeInference, core.Effects{Exclude: []string{"calc"}})
		r.play()
		if got := offered((*asked)[0]); !slices.Equal(got, []string{"echo"}) {
			t.Errorf("offered %v", got)
		}
		r.wantRan("echo{}")
		r.wantConversation("user: hi", "assistant[c1][c2]", `tool(c1): Not run: the tool "calc" is not offered in this step.`, "tool(c2): echo did {}", "assistant: done")
	})
	t.Run("C69 nothing in common: no tool is offered", func(t *testing.T) {
		r := newRig(t, says("done"))
		asked := r.prompts()
		r.watching("first").wants(core.BeforeInference, core.Effects{Include: []string{"echo"}})
		r.watching("second").wants(core.BeforeInference, core.Effects{Include: []string{"calc"}})
		r.play()
		if got := offered((*asked)[0]); len(got) != 0 {
			t.Errorf("offered %v", got)
		}
	})
}

func TestHooksEndARun(t *testing.T) {
	for _, c := range []struct {
		phase  core.Phase
		asked  int
		ran    []string
		result string
	}{
		{core.RunStart, 0, nil, ""},
		{core.StepStart, 0, nil, ""},
		{core.BeforeInference, 0, nil, ""},
		{core.AfterInference, 1, nil, "Not run: the run ended first (behavior_requested: enough)."},
		{core.StepEnd, 1, []string{`echo{"n":0}`}, `echo did {"n":0}`},
	} {
		t.Run("in "+c.phase.String(), func(t *testing.T) {
			r := newRig(t, echoing(2)...)
			r.watching("p").wants(c.phase, core.Effects{End: &core.Reason{Kind: core.BehaviorRequested, Code: "enough"}})
			r.play()
			r.wantEnd(core.BehaviorRequested, "enough")
			r.wantAsked(c.asked)
			r.wantRan(c.ran...)
			if got := r.resultOf("c0"); got != c.result {
				t.Errorf("the call's result is %q, want %q", got, c.result)
			}
			wellFormed(t, core.TranscriptOf(r.log()))
		})
	}
	t.Run("C161 a hook stops the run after the turn: no tool, no second request", func(t *testing.T) {
		r := newRig(t, echoing(2)...)
		r.watching("p").wants(core.AfterInference, core.Effects{End: &core.Reason{Kind: core.Stopped, Code: "custom_stop"}})
		r.play()
		r.wantEnd(core.Stopped, "custom_stop")
		r.wantRan()
		r.wantAsked(1)
	})
	t.Run("a hook's end outweighs a stop rule and a natural end", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.stopping(t, stoprule.Spec{Type: "content_match", Pattern: "done"})
		r.watching("p").wants(core.AfterInference, core.Effects{End: &core.Reason{Kind: core.BehaviorRequested}})
		r.play()
		r.wantEnd(core.BehaviorRequested, "")
	})
	t.Run("a hook that ends the run where it would wait: the waiting call is closed", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.watching("p").wants(core.StepEnd, core.Effects{End: &core.Reason{Kind: core.BehaviorRequested}})
		r.play()
		r.wantEnd(core.BehaviorRequested, "")
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallCancelled})
	})
	t.Run("what ends the run before its first step keeps what was said", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.watching("p").wants(core.StepStart, core.Effects{End: &core.Reason{Kind: core.BehaviorRequested}})
		r.play()
		r.wantConversation("user: hi")
		if h := r.head(); h.Step != 0 {
			t.Errorf("%d steps", h.Step)
		}
	})
	t.Run("a reason that is none does not take the process down", func(t *testing.T) {
		for _, kind := range []core.ReasonKind{0, core.Suspended} {
			r := newRig(t, says("done"))
			r.watching("p").wants(core.AfterInference, core.Effects{End: &core.Reason{Kind: kind}})
			r.play()
			if h := r.head(); h.Status != core.RunDone || h.End.Kind == 0 || h.End.Kind == core.Suspended {
				t.Errorf("kind %d: %s, end %+v", kind, h.Status, h.End)
			}
		}
	})
}

func TestHooksAroundATurn(t *testing.T) {
	t.Run("a call that is dropped is in no journal and in no request; its siblings run", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`)), says("done"))
		p := r.watching("p")
		p.wants(core.AfterInference, core.Effects{Drop: []string{"c1"}})
		r.play()
		r.wantRan("calc{}")
		r.wantConversation("user: hi", "assistant[c2]", "tool(c2): calc did {}", "assistant: done")
		if p.times("before_tool_execute c1") != 0 || r.count(core.EventCallReady) != 1 {
			t.Errorf("hooks %v, %d calls ready", p.seen, r.count(core.EventCallReady))
		}
	})
	t.Run("a turn whose calls are all dropped is a natural end", func(t *testing.T) {
		r := newRig(t, core.Turn{Text: "I will pay", Calls: []core.ToolCall{call("c1", "echo", `{}`)}}, says("again"))
		r.watching("p").wants(core.AfterInference, core.Effects{Drop: []string{"c1"}})
		r.play()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant: I will pay")
	})
	t.Run("stop rules look at the turn without the dropped calls", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`)), says("done"))
		r.stopping(t, stoprule.Spec{Type: "stop_on_tool", ToolName: "echo"})
		r.watching("p").wants(core.AfterInference, core.Effects{Drop: []string{"c1"}})
		r.play()
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("a hook sees the turn as the model gave it", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{"a":1}`)), says("done"))
		var seen []core.Turn
		r.watching("p").does(core.AfterInference, func(v visit) { seen = append(seen, v.turn) })
		r.play()
		if len(seen) != 2 || seen[0].Calls[0].ID != "c1" || seen[1].Text != "done" {
			t.Errorf("seen %+v", seen)
		}
	})
}

func TestHooksAroundABody(t *testing.T) {
	refusing := func(r *rig, id string) *probe {
		p := r.watching("strict")
		p.at[core.BeforeToolExecute] = func(v visit) (core.Effects, error) {
			if v.call.ID == id {
				return core.Effects{Refuse: "not today"}, nil
			}
			return core.Effects{}, nil
		}
		return p
	}
	for _, spec := range []core.ToolSpec{{}, {Delivery: core.AtMostOnce}} {
		for _, parallel := range []bool{false, true} {
			t.Run(fmt.Sprintf("a call that is refused fails, the others run (parallel %v, delivery %q)", parallel, spec.Delivery), func(t *testing.T) {
				r := newRig(t, calls(call("c1", "once", `{"n":1}`), call("c2", "once", `{"n":2}`), call("c3", "once", `{"n":3}`)), says("done"))
				r.terms.Parallel = parallel
				r.tool("once", toolRule{effect: core.Allow, spec: spec})
				p := refusing(r, "c2")
				r.play()
				slices.Sort(r.ran)
				r.wantRan(`once{"n":1}`, `once{"n":3}`)
				r.wantConversation("user: hi", "assistant[c1][c2][c3]", `tool(c1): once did {"n":1}`, "tool(c2): not today", `tool(c3): once did {"n":3}`, "assistant: done")
				if p.times("after_tool_execute c2") != 1 || p.times("before_tool_execute") != 3 {
					t.Errorf("hooks were called %v", p.order())
				}
			})
		}
	}
	t.Run("a call that was approved can still be refused", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.ask("pay")
		refusing(r, "c1")
		r.play()
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRan()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): not today", "assistant: done")
	})
	t.Run("what hooks append stands behind the result, in their order, also behind a refusal", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "nope", `{}`), call("c3", "pay", `{}`)), says("done"))
		r.tool("pay", toolRule{effect: core.Deny, reason: "closed"})
		r.watching("a").wants(core.AfterToolExecute, core.Effects{Append: "checked by a"})
		r.watching("b").wants(core.AfterToolExecute, core.Effects{Append: "checked by b"})
		r.play()
		const checked = "\nchecked by a\nchecked by b"
		r.wantConversation("user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}"+checked, `tool(c2): There is no tool named "nope".`+checked,
			"tool(c3): Not allowed: closed"+checked, "assistant: done")
	})
	t.Run("the hooks after a body see how it went", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "bad", `{}`), call("c3", "wizard", `{}`)), says("done"))
		r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{}, fmt.Errorf("no luck")
		}})
		r.suspending("wizard", core.ReplayToolCall, 1)
		saw := map[string]string{}
		r.watching("p").does(core.AfterToolExecute, func(v visit) { saw[v.call.ID] = v.outcome.Status().String() + ": " + v.outcome.Text })
		r.play()
		want := map[string]string{"c1": "succeeded: echo did {}", "c2": "failed: no luck", "c3": "suspended: "}
		for id := range want {
			if saw[id] != want[id] {
				t.Errorf("%s: %q, want %q", id, saw[id], want[id])
			}
		}
	})
	t.Run("the text appended is kept when the answer to a call is its result", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "upload", `{}`)), says("done"))
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.watching("p").wants(core.AfterToolExecute, core.Effects{Append: "noted"})
		r.play()
		r.must(r.decide("c1", resume("d", `"uploaded"`)))
		r.work()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): uploaded\nnoted", "assistant: done")
	})
}

func TestAHookMakesTheRunWaitAtItsStart(t *testing.T) {
	waiting := func(t *testing.T) *rig {
		r := newRig(t, says("done"))
		r.watching("desk").wants(core.RunStart, core.Effects{Wait: &core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult,
			Suspension: core.Suspension{Action: "recover_1", Message: "go on?", ResponseSchema: json.RawMessage(`{"type":"string"}`)}}})
		return r.play()
	}
	the := func(r *rig) (id string) {
		for id = range r.head().Calls {
		}
		return id
	}
	t.Run("C109 it waits, and the model is not asked", func(t *testing.T) {
		r := waiting(t)
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(0)
		r.wantConversation("user: hi")
		if h := r.head(); len(h.Calls) != 1 || h.Calls[the(r)].Kind != core.KindInput || h.Step != 0 {
			t.Errorf("calls %+v after %d steps", h.Calls, h.Step)
		}
	})
	t.Run("C109 the answer is told to the model, and the run goes on", func(t *testing.T) {
		r := waiting(t)
		r.must(r.decide(the(r), resume("d", `"take the blue one"`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "system: take the blue one", "assistant: done")
	})
	t.Run("C109 a message is an answer too", func(t *testing.T) {
		r := waiting(t)
		r.must(r.say("m1", "the red one"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if got := strings.Join(r.conversation(), "\n"); !strings.Contains(got, "the red one") || strings.Count(got, "the red one") != 1 {
			t.Errorf("conversation\n%s", got)
		}
	})
	t.Run("C109 a no ends the run", func(t *testing.T) {
		r := waiting(t)
		r.must(r.decide(the(r), cancelled("d", "not now")))
		r.work()
		r.wantRun(core.RunDone, core.Blocked)
		r.wantAsked(0)
		if end := r.head().End; end.Detail != "not now" {
			t.Errorf("end %+v", end)
		}
	})
	t.Run("C109 the hook is not called again for the answer", func(t *testing.T) {
		r := waiting(t)
		r.must(r.decide(the(r), resume("d", `"yes"`)))
		r.work()
		if p := r.hooks[0].(*probe); p.times("run_start") != 1 || p.times("run_end") != 1 {
			t.Errorf("hooks were called %v", p.seen)
		}
	})
}

// patiently works, and sweeps ever later, until the run rests.
func (r *rig) patiently() {
	r.t.Helper()
	for range 40 {
		r.work()
		if h := r.head(); h.Status == core.RunDone || h.Status == core.RunWaiting {
			return
		}
		r.clock.Advance(minute)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, sweepPeriod))
	}
	r.t.Fatalf("the run does not come to rest: %+v", r.head())
}
