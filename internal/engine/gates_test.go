package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// guarding makes an unlocking tool and one whose gate says otherwise until it is unlocked.
func (r *rig) guarding(otherwise core.Effect) {
	r.tool("unlock", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{Text: "unlocked"}, req.State.Set(core.RunScope, "open", true)
	}})
	r.tool("guarded", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
		if string(s.Get(core.RunScope, "open")) == "true" {
			return core.Verdict{Effect: core.Allow}
		}
		return core.Verdict{Effect: otherwise, Reason: "it is locked"}
	}})
}

// doneOrder are the calls in the order they were settled.
func (r *rig) doneOrder() (ids []string) {
	for _, e := range r.events() {
		switch e.Type {
		case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
			ids = append(ids, callOf(e))
		}
	}
	return ids
}

func TestVerdicts(t *testing.T) {
	t.Run("C50 C51 a block ends the run: the call failed with the reason, later ones are closed, nothing runs", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`)), says("done"))
		r.tool("echo", toolRule{effect: core.Block, reason: "permission denied by policy"})
		r.play()
		r.wantRun(core.RunDone, core.Blocked)
		if end := r.head().End; end.Detail != "permission denied by policy" {
			t.Errorf("end %+v", end)
		}
		r.wantRan()
		r.wantAsked(1)
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): Blocked: permission denied by policy", "tool(c2): Not run: the run ended first (blocked).")
		if failed, cancelled := r.count(core.EventCallFailed), r.count(core.EventCallCancelled); failed != 1 || cancelled != 1 {
			t.Errorf("%d failed, %d cancelled", failed, cancelled)
		}
	})
	t.Run("C53 what stands before a blocked call runs, what stands behind it does not", func(t *testing.T) {
		for _, parallel := range []bool{false, true} {
			r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`), call("c3", "echo", `{}`)), says("done"))
			r.terms.Parallel = parallel
			r.tool("calc", toolRule{effect: core.Block, reason: "calc is forbidden"})
			r.play()
			r.wantRun(core.RunDone, core.Blocked)
			r.wantRan("echo{}")
			r.wantConversation("user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2): Blocked: calc is forbidden", "tool(c3): Not run: the run ended first (blocked).")
		}
	})
	t.Run("C54 a gate gives the result: no body, the hooks after it but not before it", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.tool("echo", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
			return core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "from the cache"}}
		}})
		p := r.watching("p")
		r.play()
		r.wantRan()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): from the cache", "assistant: done")
		if p.times("before_tool_execute") != 0 || p.times("after_tool_execute c1") != 1 || r.count(core.EventCallSucceeded) != 1 {
			t.Errorf("hooks %v, %d succeeded", p.order(), r.count(core.EventCallSucceeded))
		}
	})
	t.Run("C54 a result that is given can be a failure, or nothing", func(t *testing.T) {
		for want, out := range map[core.CallStatus]*core.Outcome{core.CallFailed: {Text: "no", Failed: true}, core.CallSucceeded: nil} {
			r := newRig(t, calls(call("c1", "echo", `{}`)))
			r.tool("echo", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
				return core.Verdict{Effect: core.SetResult, Result: out}
			}})
			r.start("hi")
			r.step()
			r.wantCalls(map[string]core.CallStatus{"c1": want})
		}
	})
	for _, c := range []struct {
		name  string
		gates []core.Effect
		def   core.Effect
		want  core.CallStatus
		end   core.ReasonKind
	}{
		{"a block among others", []core.Effect{core.SetResult, core.Ask, core.Block}, core.Allow, core.CallFailed, core.Blocked},
		{"a question outweighs a given result", []core.Effect{core.SetResult, core.Ask}, core.Allow, core.CallSuspended, 0},
		{"a denial outweighs a question", []core.Effect{core.Ask, core.Deny}, core.Allow, core.CallFailed, 0},
		{"a hook cannot loosen a denial", []core.Effect{core.Allow}, core.Deny, core.CallFailed, 0},
		{"a hook cannot answer a question", []core.Effect{core.Allow, core.SetResult}, core.Ask, core.CallSuspended, 0},
	} {
		t.Run("C55 "+c.name, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			r.tool("echo", toolRule{effect: c.def})
			for i, effect := range c.gates {
				r.watching(fmt.Sprint("g", i)).gate = func(core.ToolCall, core.State) *core.Verdict {
					return &core.Verdict{Effect: effect, Result: &core.Outcome{Text: "given"}}
				}
			}
			r.start("hi")
			r.step()
			r.wantCalls(map[string]core.CallStatus{"c1": c.want})
			r.wantRan()
			if end := r.head().End; c.end != 0 && (end == nil || end.Kind != c.end) {
				t.Errorf("end %+v", end)
			}
		})
	}
}

// A hook that asks with a policy takes nothing from the agent's, and the agent's rules nothing from
// a hook that asks as the agent does.
func TestAHookAsksBesideTheAgentsPolicy(t *testing.T) {
	policy := func(name string) *vote.Policy {
		return &vote.Policy{Name: name, Stages: []vote.Stage{{Group: vote.Group{Name: name, Members: []vote.Member{{Is: []string{name}}}}, Need: 1}}}
	}
	for name, c := range map[string]struct {
		rule, hook *vote.Policy
		want       string
	}{
		"the hook has a policy": {nil, policy("hook"), "default+hook"},
		"the rule has a policy": {policy("rule"), nil, "rule+default"},
		"both have one":         {policy("rule"), policy("hook"), "rule+hook"},
		"neither has one":       {nil, nil, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			r.terms.Policy = policy("default")
			r.tool("echo", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
				return core.Verdict{Effect: core.Ask, Policy: c.rule}
			}})
			r.watching("guard").gate = func(core.ToolCall, core.State) *core.Verdict {
				return &core.Verdict{Effect: core.Ask, Policy: c.hook}
			}
			r.start("hi")
			r.step()
			for _, e := range r.events() {
				if asked, ok := core.SuspendedIn(e); ok {
					if asked.Policy == nil || asked.Policy.Name != c.want {
						t.Errorf("asked under %+v, want %s", asked.Policy, c.want)
					}
					return
				}
			}
			t.Error("nothing was asked")
		})
	}
}

func TestAGateIsAskedAgain(t *testing.T) {
	for _, otherwise := range []core.Effect{core.Block, core.Deny, core.Ask} {
		for _, parallel := range []bool{false, true} {
			name := fmt.Sprintf("(%s until unlocked, parallel %v)", otherwise, parallel)
			t.Run("C57 C216 the unlocking call runs first, then the guarded one, each once "+name, func(t *testing.T) {
				r := newRig(t, calls(call("u1", "unlock", `{}`), call("g1", "guarded", `{}`)), says("done"))
				r.terms.Parallel = parallel
				r.guarding(otherwise)
				p := r.watching("p")
				r.play()
				r.wantRun(core.RunDone, core.NaturalEnd)
				r.wantRan("unlock{}", "guarded{}")
				if got := r.doneOrder(); !slices.Equal(got, []string{"u1", "g1"}) {
					t.Errorf("settled in the order %v", got)
				}
				if p.times("before_tool_execute g1") != 1 || p.times("after_tool_execute g1") != 1 {
					t.Errorf("hooks were called %v", p.order())
				}
			})
			for _, turn := range [][]core.ToolCall{
				{call("g1", "guarded", `{}`), call("u1", "unlock", `{}`)},
				{call("c1", "echo", `{}`), call("g1", "guarded", `{}`), call("u1", "unlock", `{}`)},
			} {
				t.Run(fmt.Sprintf("C216 the other way round the first verdict stands, %d calls %s", len(turn), name), func(t *testing.T) {
					r := newRig(t, calls(turn...), says("done"))
					r.terms.Parallel = parallel
					r.guarding(otherwise)
					p := r.watching("p")
					r.play()
					if slices.Contains(r.ran, "guarded{}") {
						t.Errorf("ran %v", r.ran)
					}
					want := map[core.Effect]string{core.Block: "Blocked: it is locked", core.Deny: "Not allowed: it is locked", core.Ask: phrase.Placeholder}[otherwise]
					if got := r.resultOf("g1"); got != want {
						t.Errorf("the guarded call's result is %q, want %q", got, want)
					}
					if after := p.times("after_tool_execute g1"); otherwise != core.Ask && after != 1 {
						t.Errorf("the hooks after it were called %d times", after)
					}
				})
			}
		}
	}
	t.Run("C59 the unlocking call waits: the guarded ones are held, not judged; their gates are asked anew", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "unlock", `{}`), call("c2", "guarded", `{"n":2}`), call("c3", "guarded", `{"n":3}`)), says("done"))
		r.guarding(core.Block)
		r.tool("unlock", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			if req.Resume == nil {
				return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.PassDecisionToTool}}, nil
			}
			return core.Outcome{Text: "unlocked"}, req.State.Set(core.RunScope, "open", true)
		}})
		p := r.watching("p")
		r.play()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallNew, "c3": core.CallNew})
		if h := r.head(); h.Calls["c2"].HeldBehind != "c1" || h.Calls["c3"].HeldBehind != "c1" || p.times("before_tool_execute c2") != 0 {
			t.Errorf("calls %+v, hooks %v", h.Calls, p.order())
		}
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("unlock{}", "unlock{}", `guarded{"n":2}`, `guarded{"n":3}`)
	})
	t.Run("C60 a gate that is asked twice changes nothing; only the hooks before the body do", func(t *testing.T) {
		r := newRig(t, calls(call("u1", "unlock", `{}`), call("g1", "guarded", `{}`)), says("done"))
		r.guarding(core.Block)
		p := r.watching("p")
		p.gate = func(_ core.ToolCall, s core.State) *core.Verdict {
			if s.Run != nil {
				s.Run["meddled"] = []byte(`true`) // in a copy
			}
			return nil
		}
		p.wants(core.BeforeToolExecute, adds("begun", "1"))
		r.play()
		if n := p.times("tool_gate g1"); n < 2 {
			t.Errorf("the gate was asked %d times", n)
		}
		r.wantState(core.RunScope, "begun", "2")
		r.wantState(core.RunScope, "meddled", "")
	})
}

func TestAModelIsAskedWhileCallsWait(t *testing.T) {
	mixed := func(t *testing.T, turns ...core.Turn) *rig {
		r := newRig(t, append([]core.Turn{calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`), call("c3", "calc", `{}`))}, turns...)...)
		r.terms.Continue = true
		r.ask("pay")
		return r.play()
	}
	t.Run("C48 C107 on continue the model is asked again; its last word leaves the run waiting", func(t *testing.T) {
		r := mixed(t, says("two of three are done"), says("all done"))
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(2)
		if h := r.head(); h.Calls["c2"].Status != core.CallSuspended || h.End != nil || h.Response != "" {
			t.Errorf("calls %+v, end %+v, response %q", h.Calls, h.End, h.Response)
		}
		r.wantConversation("user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2) pending", "tool(c3): calc did {}", "assistant: two of three are done")
	})
	t.Run("C48 the late result stands where the placeholder stood, and the model is asked once more", func(t *testing.T) {
		r := mixed(t, says("two of three are done"), says("all done"))
		r.must(r.decide("c2", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(3)
		r.wantConversation("user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2): pay did {}", "tool(c3): calc did {}",
			"assistant: two of three are done", "assistant: all done")
	})
	t.Run("C48 later rounds run while the call waits on", func(t *testing.T) {
		r := mixed(t, calls(call("c4", "other", `{}`)), says("waiting for c2"), says("all done"))
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(3)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended})
		r.build(engine.Options{})
		r.must(r.decide("c2", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "calc{}", "other{}", "pay{}")
	})
	t.Run("nothing new for the model: it is not asked", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.terms.Continue = true
		r.ask("pay")
		r.play()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(1)
	})
	t.Run("C108 a cancel closes what waits and keeps what was said", func(t *testing.T) {
		r := mixed(t, says("two of three are done"))
		r.must(r.cancel())
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallCancelled})
		if said := slices.Contains(r.conversation(), "assistant: two of three are done"); !said {
			t.Errorf("conversation %v", r.conversation())
		}
		wellFormed(t, core.TranscriptOf(r.log()))
	})
}

// callOf is the call an event is about.
func callOf(e core.Event) string {
	var c core.CallState
	if json.Unmarshal(e.Data, &c) != nil {
		return ""
	}
	return c.CallID
}
