package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func edit(id, args string) core.Resume {
	return core.Resume{DecisionID: id, Action: core.ActionResume, Arguments: json.RawMessage(args)}
}

func TestEditedArguments(t *testing.T) {
	t.Run("HB28 the edited ones run, the turn stays as it was, and the result names them", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", edit("d", `{"amount":3}`)))
		r.work()
		r.wantRan(`pay{"amount":3}`)
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): pay did {\"amount\":3}\n(Ran with arguments that a person edited: {\"amount\":3})", "assistant: done")
		for _, m := range r.log() {
			if len(m.Calls) == 1 && string(m.Calls[0].Arguments) != `{"amount":5}` {
				t.Errorf("the turn was changed: %s", m.Calls[0].Arguments)
			}
		}
		if rec := r.records()[0]; string(rec.Arguments) != `{"amount":3}` {
			t.Errorf("recorded %+v", rec)
		}
	})
	t.Run("C74 a result that looks like arguments changes none", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", resume("d", `{"approved":true,"amount":3}`)))
		r.work()
		r.wantRan(`pay{"amount":5}`)
	})
	t.Run("they are held against the gate: a deny counts, an ask does not", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"))
		r.tool("pay", toolRule{gate: func(c core.ToolCall, _ core.State) core.Verdict {
			if strings.Contains(string(c.Arguments), "900") {
				return core.Verdict{Effect: core.Deny, Reason: "too much"}
			}
			return core.Verdict{Effect: core.Ask}
		}})
		r.start("pay 5")
		r.work()
		r.must(r.decide("c1", edit("d", `{"amount":900}`)))
		r.work()
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not allowed: too much", "assistant: done")
	})
	t.Run("they are checked again when they run", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"))
		r.tool("pay", toolRule{effect: core.Ask, check: func(c core.ToolCall) error {
			if !strings.Contains(string(c.Arguments), "amount") {
				return errors.New("missing amount")
			}
			return nil
		}})
		r.start("pay 5")
		r.work()
		r.must(r.decide("c1", edit("d", `{}`)))
		r.work()
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not run: the edited arguments are not valid: missing amount", "assistant: done")
	})
	t.Run("a call that asks again shows, and runs with, what was edited", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wait", `{"n":1}`)), says("done"))
		r.suspending("wait", core.PassDecisionToTool, 2)
		rule := r.tools["wait"]
		rule.effect = core.Ask
		r.tools["wait"] = rule
		r.start("go")
		r.work()
		r.must(r.decide("c1", edit("d1", `{"n":2}`)))
		r.work()
		if s := r.suspended("c1"); string(s.Arguments) != `{"n":1}` || string(s.Pending.Arguments) != `{"n":2}` {
			t.Errorf("shown %s of %s", s.Pending.Arguments, s.Arguments)
		}
		r.must(r.decide("c1", resume("d2", `"yes"`)))
		r.work()
		r.must(r.decide("c1", resume("d3", `"yes"`)))
		r.work()
		r.wantRan(`wait{"n":2}`, `wait{"n":2}`, `wait{"n":2}`)
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("after a crash the edited ones run, not the model's", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", edit("d", `{"amount":3}`)))
		r.store = &breaking{Store: r.db, at: 3, how: dies} // claim, journal, commit ✗
		r.build(engine.Options{})
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		for range 3 {
			r.recover()
			for id, c := range r.head().Calls {
				if c.Kind == core.KindUnknownOutcome && c.Status == core.CallSuspended {
					if shown := r.suspended(id).Pending.Arguments; string(shown) != `{"amount":3}` {
						t.Errorf("asked about %s", shown)
					}
					r.must(r.decide(id, resume("it did not happen", "")))
				}
			}
		}
		r.wantRan(`pay{"amount":3}`)
	})
}

func TestGrants(t *testing.T) {
	granting := func(t *testing.T) *rig {
		r := newRig(t, calls(call("c1", "write", `{"n":1}`)), calls(call("c2", "write", `{"n":2}`), call("c3", "erase", `{}`)), says("done"))
		r.tool("write", toolRule{effect: core.Ask, grant: "write/1"})
		r.tool("erase", toolRule{effect: core.Ask, grant: "erase/1"})
		r.start("go")
		r.work()
		return r
	}
	t.Run("C113 an approval is for its call alone, and that call is not asked about again", func(t *testing.T) {
		r := granting(t)
		r.must(r.decide("c1", resume("d1", "true")))
		r.work()
		r.wantRan(`write{"n":1}`)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended, "c3": core.CallSuspended})
	})
	t.Run("a grant for the run lets the same rule's later calls run, and no others", func(t *testing.T) {
		r := granting(t)
		r.must(r.decide("c1", forTurn(resume("d1", "true"))))
		r.work()
		r.wantRan(`write{"n":1}`, `write{"n":2}`)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSucceeded, "c3": core.CallSuspended})
		r.must(r.decide("c3", cancelled("d2", "no")))
		r.work()
		before := r.head()
		r.turns = append(r.turns, calls(call("c4", "write", `{"n":3}`)))
		r.follow(before, "and again")
		r.work()
		// the next run has no grants
		r.wantCalls(map[string]core.CallStatus{"c4": core.CallSuspended})
	})
	t.Run("a granted call is at most once, like one that was asked about", func(t *testing.T) {
		r := granting(t)
		r.must(r.decide("c1", forTurn(resume("d1", "true"))))
		b := &breaking{Store: r.db, at: 1000}
		r.store = b
		r.tool("write", toolRule{effect: core.Ask, grant: "write/1"})
		r.work()
		intents := 0
		for _, e := range r.events() {
			if e.Type == core.EventCallStarted {
				intents++
			}
		}
		if intents != 2 || !r.head().Calls["c2"].ByGrant {
			t.Errorf("%d started, c2 %+v", intents, r.head().Calls["c2"])
		}
	})
}

func TestContinue(t *testing.T) {
	continuing := func(t *testing.T, turns ...core.Turn) *rig {
		r := newRig(t, turns...)
		r.ask("pay")
		r.terms.Continue = true
		return r
	}
	mixed := calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`), call("c3", "calc", `{}`))
	t.Run("C48 the model is asked with what there is, and the run waits with the rest", func(t *testing.T) {
		r := continuing(t, mixed, says("the rest can wait"), says("all done"))
		r.start("go")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(2)
		r.wantConversation("user: go", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2) pending", "tool(c3): calc did {}", "assistant: the rest can wait")
	})
	t.Run("C107 a natural end is none while a call waits; its late result stands where the placeholder stood", func(t *testing.T) {
		r := continuing(t, mixed, says("the rest can wait"), says("all done"))
		r.start("go")
		r.work()
		r.must(r.decide("c2", resume("d", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: go", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2): pay did {}", "tool(c3): calc did {}",
			"assistant: the rest can wait", "assistant: all done")
	})
	t.Run("C47 all suspended: there is nothing to go on with", func(t *testing.T) {
		r := continuing(t, calls(call("c1", "pay", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.start("go")
		r.work()
		r.wantAsked(1)
		r.wantRun(core.RunWaiting, 0)
	})
	t.Run("calls of several rounds wait side by side, are answered in any order, across restarts", func(t *testing.T) {
		r := continuing(t, mixed, calls(call("c4", "pay", `{"n":4}`), call("c5", "echo", `{"n":5}`)), says("waiting"), says("one"), says("two"))
		r.start("go")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended, "c4": core.CallSuspended})
		r.build(engine.Options{})
		r.must(r.decide("c4", resume("d4", "")))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.build(engine.Options{})
		r.must(r.decide("c2", edit("d2", `{"n":2}`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "calc{}", `echo{"n":5}`, `pay{"n":4}`, `pay{"n":2}`)
	})
	t.Run("a crash in the body of a call of an earlier round is told as any other", func(t *testing.T) {
		r := continuing(t, mixed, says("the rest can wait"), says("all done"))
		r.start("go")
		r.work()
		r.must(r.decide("c2", resume("d", "")))
		// claim, journal, drain and intent, ✗ result
		r.store = &breaking{Store: r.db, at: 4, before: true, how: dies}
		r.build(engine.Options{})
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.wantRan("echo{}", "calc{}", "pay{}")
		r.recover()
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended})
		r.must(r.decide("c2", resume("happened", `"paid"`)))
		r.work()
		r.wantRan("echo{}", "calc{}", "pay{}")
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("an id that the model repeats does not touch the call that still waits", func(t *testing.T) {
		r := continuing(t, mixed, calls(call("c2", "echo", `{"again":true}`)), says("done"), says("done"))
		r.start("go")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c2": core.CallSuspended})
		r.must(r.decide("c2", resume("d", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "calc{}", `echo{"again":true}`, "pay{}")
	})
}
