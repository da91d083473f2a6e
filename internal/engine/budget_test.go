package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// many are n calls of a tool in one turn, their ids counted on from first.
func many(tool string, first, n int) core.Turn {
	var turn core.Turn
	for i := first; i < first+n; i++ {
		turn.Calls = append(turn.Calls, call(fmt.Sprint("c", i), tool, fmt.Sprintf(`{"n":%d}`, i)))
	}
	return turn
}

// wantSpent are the calls that were let through in the run, and how many were refused for want of
// budget.
func (r *rig) wantSpent(let, refused int) {
	r.t.Helper()
	n := 0
	for _, m := range core.TranscriptOf(r.log()) {
		if strings.HasPrefix(m.Text(), "budget_exhausted: ") && m.Error {
			n++
		}
	}
	if h := r.head(); h.ToolCalls != let || n != refused {
		r.t.Errorf("%d calls let through, %d refused; want %d and %d", h.ToolCalls, n, let, refused)
	}
}

func TestBudgets(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		name := fmt.Sprintf(" (parallel %v)", parallel)
		t.Run("C226 a step's budget: what is too much is refused and not counted, the turn goes on"+name, func(t *testing.T) {
			r := newRig(t, many("echo", 0, 3), many("echo", 3, 2), says("done"))
			r.terms.StepCalls, r.terms.Parallel = 2, parallel
			p := r.watching("p")
			r.play()
			r.wantEnd(core.NaturalEnd, "")
			if len(r.ran) != 4 {
				t.Errorf("ran %v", r.ran)
			}
			r.wantSpent(4, 1)
			if got := r.resultOf("c2"); got != "budget_exhausted: a step may make at most 2 tool calls; the call did not run." {
				t.Errorf("the third call: %q", got)
			}
			if p.times("before_tool_execute c2") != 0 || p.times("after_tool_execute c2") != 1 {
				t.Errorf("hooks were called %v", p.order())
			}
		})
		t.Run("C226 a run's budget, over its steps"+name, func(t *testing.T) {
			r := newRig(t, many("echo", 0, 2), many("echo", 2, 2), many("echo", 4, 2), says("done"))
			r.terms.RunCalls, r.terms.Parallel = 3, parallel
			r.play()
			r.wantEnd(core.NaturalEnd, "")
			r.wantSpent(3, 3)
			if len(r.ran) != 3 {
				t.Errorf("ran %v", r.ran)
			}
		})
		t.Run("C226 a call whose gate opens late counts too"+name, func(t *testing.T) {
			r := newRig(t, calls(call("u", "unlock", `{}`), call("g", "guarded", `{}`), call("e", "echo", `{}`)), says("done"))
			r.terms.RunCalls, r.terms.Parallel = 2, parallel
			r.guarding(core.Deny)
			r.play()
			r.wantRan("unlock{}", "guarded{}")
			r.wantSpent(2, 1)
		})
	}
	t.Run("C226 calls that never could run cost nothing", func(t *testing.T) {
		r := newRig(t, calls(call("a", "nope", `{}`), call("b", "bad", `{}`), call("c", "closed", `{}`), call("d", "given", `{}`), call("e", "echo", `{}`)), says("done"))
		r.terms.StepCalls = 1
		r.tool("bad", toolRule{effect: core.Allow, invalid: "amount is missing"})
		r.tool("closed", toolRule{effect: core.Deny})
		r.tool("given", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
			return core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "given"}}
		}})
		r.play()
		r.wantRan("echo{}")
		r.wantSpent(1, 0)
	})
	t.Run("a call that a hook refuses at the last moment has cost", func(t *testing.T) {
		r := newRig(t, many("echo", 0, 2), says("done"))
		r.terms.RunCalls = 1
		r.watching("p").wants(core.BeforeToolExecute, core.Effects{Refuse: "not today"})
		r.play()
		r.wantRan()
		r.wantSpent(1, 1)
	})
	t.Run("asking a person costs, whatever the answer is, and only once", func(t *testing.T) {
		for _, answer := range []core.Resume{cancelled("d", "no"), resume("d", `true`)} {
			r := newRig(t, calls(call("p1", "pay", `{}`), call("p2", "pay", `{}`)), says("done"))
			r.terms.RunCalls = 1
			r.ask("pay")
			r.play()
			r.wantRun(core.RunWaiting, 0)
			r.wantCalls(map[string]core.CallStatus{"p1": core.CallSuspended, "p2": core.CallFailed})
			r.wantSpent(1, 1)
			r.build(engine.Options{})
			r.must(r.decide("p1", answer))
			r.work()
			r.wantEnd(core.NaturalEnd, "")
			r.wantSpent(1, 1)
		}
	})
	t.Run("a client's call costs as well, and so does one that waits by itself, once for all its attempts", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "upload", `{}`), call("c2", "wizard", `{}`)), says("done"))
		r.terms.RunCalls = 2
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.suspending("wizard", core.PassDecisionToTool, 2)
		r.play()
		r.must(r.decide("c1", resume("d", `"ok"`)))
		for range 2 {
			r.must(r.decide("c2", resume("d", `true`)))
			r.work()
		}
		r.wantEnd(core.NaturalEnd, "")
		r.wantSpent(2, 0)
	})
	t.Run("a budget of 0 is no limit", func(t *testing.T) {
		r := newRig(t, many("echo", 0, 20), says("done"))
		r.play()
		r.wantSpent(20, 0)
	})
	t.Run("lost in the middle of a round: nothing is counted twice", func(t *testing.T) {
		for at := 3; at < 9; at++ {
			r := newRig(t, many("echo", 0, 3), says("done"))
			r.terms.RunCalls = 3
			r.store = &breaking{Store: r.db, at: at, how: dies}
			r.build(engine.Options{})
			r.start("hi")
			r.workOrDie()
			r.recover()
			r.wantEnd(core.NaturalEnd, "")
			r.wantSpent(3, 0)
		}
	})
}

// finishing makes the built-in tool that ends a run known to the agent.
func (r *rig) finishing() {
	r.tool(core.FinishTool, toolRule{effect: core.Allow, spec: core.ToolSpec{Finish: true}, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		r.t.Error("finish has no body")
		return core.Outcome{}, nil
	}})
}

func finish(id, state string) core.ToolCall {
	return call(id, core.FinishTool, `{"output":{"n":1},"response_state":"`+state+`"}`)
}

// finished plays a run that knows finish.
func finished(t *testing.T, prepare func(*rig), turns ...core.Turn) *rig {
	r := newRig(t, turns...)
	r.finishing()
	if prepare != nil {
		prepare(r)
	}
	return r.play()
}

func (r *rig) wantFinished(id string, state core.ResponseState) {
	r.t.Helper()
	r.wantEnd(core.NaturalEnd, "")
	if h := r.head(); h.Finish != id || h.Response != state {
		r.t.Errorf("finished by %q, response %q; want %q, %q", h.Finish, h.Response, id, state)
	}
	wellFormed(r.t, core.TranscriptOf(r.log()))
}

func TestFinish(t *testing.T) {
	for _, state := range []core.ResponseState{core.ResponseDone, core.ResponseNoOp, core.ResponseAwaitingInput} {
		t.Run("C230 "+string(state), func(t *testing.T) {
			r := finished(t, nil, calls(finish("f", string(state))))
			r.wantFinished("f", state)
			r.wantAsked(1)
			r.wantConversation("user: hi", "assistant[f]", "tool(f): Finished.")
		})
	}
	t.Run("HF15 its siblings run first, wherever it stands", func(t *testing.T) {
		for _, parallel := range []bool{false, true} {
			r := finished(t, func(r *rig) { r.terms.Parallel = parallel }, calls(call("c1", "echo", `{}`), finish("f", "done"), call("c2", "calc", `{}`)))
			r.wantFinished("f", core.ResponseDone)
			if len(r.ran) != 2 {
				t.Errorf("ran %v", r.ran)
			}
			r.wantConversation("user: hi", "assistant[c1][f][c2]", "tool(c1): echo did {}", "tool(f): Finished.", "tool(c2): calc did {}")
		}
	})
	t.Run("a turn that does nothing but finish outweighs a limit it reached as well; one that will not be accepted does not", func(t *testing.T) {
		rule, err := stoprule.Spec{Type: "max_rounds", Rounds: 1}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		limited := func(r *rig) { r.terms.Stops = []core.StopRule{rule} }
		finished(t, limited, calls(finish("f", "done"))).wantFinished("f", core.ResponseDone)
		finished(t, limited, calls(call("c1", "echo", `{}`), finish("f", "done"))).wantRun(core.RunDone, core.Stopped)
	})
	t.Run("HF15 a sibling that waits is waited for", func(t *testing.T) {
		r := finished(t, func(r *rig) { r.ask("pay") }, calls(finish("f", "done"), call("c1", "pay", `{}`)), says("done"))
		r.wantRun(core.RunWaiting, 0)
		r.build(engine.Options{})
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantFinished("f", core.ResponseDone)
		r.wantAsked(1)
		r.wantRan("pay{}")
	})
	t.Run("HF15 a sibling that fails keeps the run from finishing; the model is told", func(t *testing.T) {
		r := finished(t, func(r *rig) {
			r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
				return core.Outcome{}, fmt.Errorf("no luck")
			}})
		}, calls(call("c1", "bad", `{}`), finish("f", "done")), calls(finish("g", "done")))
		r.wantFinished("g", core.ResponseDone)
		r.wantAsked(2)
		if got := r.resultOf("f"); !strings.HasPrefix(got, "Not finished: ") {
			t.Errorf("the first: %q", got)
		}
	})
	t.Run("C231 no_op after something was changed is refused; after reading only it is not", func(t *testing.T) {
		for _, c := range []struct {
			readOnly bool
			want     string
		}{{false, "said otherwise"}, {true, ""}} {
			r := finished(t, func(r *rig) { r.tool("look", toolRule{effect: core.Allow, spec: core.ToolSpec{ReadOnly: c.readOnly}}) },
				calls(call("c1", "look", `{}`)), calls(finish("f", "no_op")), says("said otherwise"))
			if c.readOnly {
				r.wantFinished("f", core.ResponseNoOp)
				continue
			}
			r.wantFinished("", core.ResponseDone)
			if got := r.resultOf("f"); !strings.HasPrefix(got, "Not finished: ") {
				t.Errorf("finish: %q", got)
			}
		}
	})
	t.Run("C231 whatever it says, after a failure of the same turn", func(t *testing.T) {
		for _, state := range []string{"done", "no_op", "awaiting_input"} {
			r := finished(t, func(r *rig) {
				r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
					return core.Outcome{Failed: true, Text: "no luck"}, nil
				}})
			}, calls(finish("f", state), call("c1", "bad", `{}`)), says("sorry"))
			r.wantFinished("", core.ResponseDone)
		}
	})
	t.Run("an output that does not fit is a tool error, and the model goes on", func(t *testing.T) {
		r := finished(t, func(r *rig) {
			rule := r.tools[core.FinishTool]
			rule.check = func(c core.ToolCall) error {
				if c.ID == "f" {
					return fmt.Errorf("output: n is missing")
				}
				return nil
			}
			r.tools[core.FinishTool] = rule
		}, calls(finish("f", "done")), calls(finish("g", "done")))
		r.wantFinished("g", core.ResponseDone)
		if got := r.resultOf("f"); got != "The arguments are not valid: output: n is missing" || r.count(core.EventCallInvalid) != 1 {
			t.Errorf("the first: %q", got)
		}
	})
	t.Run("a gate can forbid to finish, and can end the run", func(t *testing.T) {
		for effect, kind := range map[core.Effect]core.ReasonKind{core.Deny: core.NaturalEnd, core.Block: core.Blocked} {
			r := finished(t, func(r *rig) {
				r.watching("g").gate = func(core.ToolCall, core.State) *core.Verdict { return &core.Verdict{Effect: effect, Reason: "not yet"} }
			}, calls(finish("f", "done")), says("well then"))
			r.wantRun(core.RunDone, kind)
			if got := r.resultOf("f"); !strings.Contains(got, "not yet") {
				t.Errorf("%s: the model is told %q", effect, got)
			}
			if h := r.head(); h.Finish != "" {
				t.Errorf("finished by %q", h.Finish)
			}
		}
	})
	t.Run("two of them: the first ends the run, the other is closed", func(t *testing.T) {
		r := finished(t, nil, calls(finish("f", "done"), finish("g", "no_op")))
		r.wantFinished("f", core.ResponseDone)
	})
	t.Run("it costs no budget", func(t *testing.T) {
		r := finished(t, func(r *rig) { r.terms.RunCalls = 1 }, calls(call("c1", "echo", `{}`), finish("f", "done")))
		r.wantFinished("f", core.ResponseDone)
		r.wantSpent(1, 0)
	})
	t.Run("the hooks after a call see it, those before a body do not", func(t *testing.T) {
		var p *probe
		r := finished(t, func(r *rig) { p = r.watching("p") }, calls(finish("f", "done")))
		r.wantFinished("f", core.ResponseDone)
		p.wantOrder(t, "run_start", "step_start", "before_inference", "after_inference", "after_tool_execute f", "step_end", "run_end")
	})
	t.Run("a stop rule that names it stops the run without it", func(t *testing.T) {
		r := finished(t, func(r *rig) { r.stopping(t, stoprule.Spec{Type: "stop_on_tool", ToolName: core.FinishTool}) }, calls(finish("f", "done")))
		r.wantEnd(core.Stopped, "stop_on_tool")
		if h := r.head(); h.Finish != "" || h.Response != "" {
			t.Errorf("finished by %q, response %q", h.Finish, h.Response)
		}
	})
	t.Run("a run that ends without it is done", func(t *testing.T) {
		finished(t, nil, says("bye")).wantFinished("", core.ResponseDone)
	})
}
