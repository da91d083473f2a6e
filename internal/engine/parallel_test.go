package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

func TestSequentialRounds(t *testing.T) {
	t.Run("C62 each call sees what the one before wrote", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`), call("c2", "count", `{}`)), says("done"))
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.play()
		r.wantState(core.RunScope, "n", "2")
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): count saw n=", "tool(c2): count saw n=1", "assistant: done")
	})
	t.Run("C62 two calls may write one key, the later counts", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "one", `{}`), call("c2", "two", `{}`)), says("done"))
		r.writing("one", func(s *pad.Pad) { r.must(s.Set(core.RunScope, "n", 1)) })
		r.writing("two", func(s *pad.Pad) { r.must(s.Set(core.RunScope, "n", 2)) })
		r.play()
		r.wantEnd(core.NaturalEnd, "")
		r.wantState(core.RunScope, "n", "2")
	})
}

func TestParallelRounds(t *testing.T) {
	t.Run("C39 one fails, one succeeds: both results are there", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "bad", `{}`)), says("done"))
		r.terms.Parallel = true
		r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{}, errors.New("no luck")
		}})
		r.play()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): echo did {}", "tool(c2): no luck", "assistant: done")
	})
	t.Run("C44 one waits by itself, the other runs", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wizard", `{}`), call("c2", "count", `{}`)), says("done"))
		r.terms.Parallel = true
		r.suspending("wizard", core.ReplayToolCall, 1)
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.play()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallSucceeded})
		r.wantState(core.RunScope, "n", "1")
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(2)
	})
	t.Run("C63 writes of different keys are both there, and neither saw the other", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "a", `{}`), call("c2", "b", `{}`)), says("done"))
		r.terms.Parallel = true
		r.tools["a"] = r.asWriter("a", func(s *pad.Pad) string {
			r.must(s.Set(core.RunScope, "a", 1))
			return string(s.Get(core.RunScope, "b"))
		})
		r.tools["b"] = r.asWriter("b", func(s *pad.Pad) string {
			r.must(s.Set(core.RunScope, "b", 2))
			return string(s.Get(core.RunScope, "a"))
		})
		r.play()
		r.wantState(core.RunScope, "a", "1")
		r.wantState(core.RunScope, "b", "2")
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): saw ", "tool(c2): saw ", "assistant: done")
	})
	for _, spec := range []core.ToolSpec{{}, {Delivery: core.AtMostOnce}} {
		t.Run(fmt.Sprintf("C64 both write one key: the run ends, nothing of it applied (delivery %q)", spec.Delivery), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "one", `{}`), call("c2", "two", `{}`), call("c3", "pay", `{}`)), says("done"))
			r.terms.Parallel = true
			for _, name := range []string{"one", "two"} {
				rule := r.asWriter(name, func(s *pad.Pad) string { r.must(s.Set(core.RunScope, "n", name)); return name })
				rule.spec.Delivery = spec.Delivery
				r.tools[name] = rule
			}
			r.ask("pay")
			r.play()
			r.wantEnd(core.Failed, "state_conflict")
			if end := r.head().End; !strings.Contains(end.Detail, "conflict") || !strings.Contains(end.Detail, `"n"`) {
				t.Errorf("end %+v", end)
			}
			r.wantNoConflictingWrite(spec.Delivery)
			wellFormed(t, core.TranscriptOf(r.log()))
		})
	}
	t.Run("cancelled while two bodies write one key: the cancel is what ended the run", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "one", `{}`), call("c2", "two", `{}`)), says("done"))
		r.terms.Parallel = true
		for _, name := range []string{"one", "two"} {
			r.tools[name] = r.asWriter(name, func(s *pad.Pad) string {
				if name == "one" {
					r.must(r.cancel())
				}
				r.must(s.Set(core.RunScope, "n", name))
				return name
			})
		}
		r.play()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantState(core.RunScope, "n", "")
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallCancelled, "c2": core.CallCancelled})
		wellFormed(t, core.TranscriptOf(r.log()))
	})
	t.Run("C64 both add to one number: no conflict", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`), call("c2", "count", `{}`)), says("done"))
		r.terms.Parallel = true
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.play()
		r.wantEnd(core.NaturalEnd, "")
		r.wantState(core.RunScope, "n", "2")
	})
	t.Run("hooks before side by side bodies are called once each, and their writes count once", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{"n":1}`), call("c2", "echo", `{"n":2}`), call("c3", "echo", `{"n":3}`)), says("done"))
		r.terms.Parallel = true
		p := r.watching("p")
		p.at[core.BeforeToolExecute] = func(v visit) (core.Effects, error) {
			e := adds("n", "1")
			if v.call.ID == "c2" {
				e.Refuse = "not today"
			}
			return e, nil
		}
		r.play()
		r.wantState(core.RunScope, "n", "3")
		if n := p.times("before_tool_execute"); n != 3 {
			t.Errorf("called %d times: %v", n, p.order())
		}
		slices.Sort(r.ran)
		r.wantRan(`echo{"n":1}`, `echo{"n":3}`)
	})
	t.Run("the bodies really run side by side", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "meet", `{}`), call("c2", "meet", `{}`)), says("done"))
		r.terms.Parallel = true
		here := make(chan struct{})
		r.tool("meet", toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
			select { // one sends, one receives: neither could alone
			case here <- struct{}{}:
			case <-here:
			case <-ctx.Done():
				return core.Outcome{}, ctx.Err()
			}
			return core.Outcome{Text: "met"}, nil
		}})
		r.play()
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): met", "tool(c2): met", "assistant: done")
	})
	for _, delivery := range []core.Delivery{core.AtLeastOnce, core.AtMostOnce} {
		t.Run(fmt.Sprintf("bodies that do not stop in time have no results of their own (delivery %q)", delivery), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "stuck", `{}`), call("c2", "jammed", `{}`)), says("done"))
			r.terms.Parallel = true
			end := make(chan struct{})
			t.Cleanup(func() { close(end) })
			started := map[string]chan struct{}{"stuck": make(chan struct{}), "jammed": make(chan struct{})}
			for name, begun := range started {
				r.blocking(name, begun, func(context.Context) (core.Outcome, error) { <-end; return core.Outcome{Text: "late"}, nil })
				rule := r.tools[name]
				rule.spec.Delivery = delivery
				r.tools[name] = rule
			}
			r.start("hi")
			r.whileRunning(started["stuck"], func() {})
			if delivery == core.AtLeastOnce {
				r.wantCalls(map[string]core.CallStatus{"c1": core.CallFailed, "c2": core.CallFailed})
				return
			}
			r.wantRun(core.RunWaiting, 0)
			for _, id := range []string{"c1", "c2"} {
				if s := r.suspended(id); s.Kind != core.KindUnknownOutcome {
					t.Errorf("%s is suspended as %s", id, s.Kind)
				}
			}
		})
	}
	t.Run("a panic of one body is its own failure", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "bad", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.terms.Parallel = true
		r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { panic("secret") }})
		r.play()
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): it failed unexpectedly", "tool(c2): echo did {}", "assistant: done")
	})
}

// asWriter is a tool that works on the state and says what came of it.
func (r *rig) asWriter(name string, do func(*pad.Pad) string) toolRule {
	return toolRule{effect: core.Allow, spec: core.ToolSpec{Name: name}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{Text: "saw " + do(req.State)}, nil
	}}
}

// wantNoConflictingWrite checks the end of two calls, c1 and c2 of the tools one and two, that
// wrote the same key, and of a call c3 that was to be asked about. The outcome of an at-most-once
// body is committed when it comes, so the first to end may count; nothing of the other one does.
func (r *rig) wantNoConflictingWrite(delivery core.Delivery) {
	r.t.Helper()
	want := map[string]core.CallStatus{"c1": core.CallCancelled, "c2": core.CallCancelled, "c3": core.CallCancelled}
	value := ""
	for id, name := range map[string]string{"c1": "one", "c2": "two"} {
		got := r.resultOf(id)
		switch {
		case delivery == core.AtMostOnce && value == "" && got == "saw "+name:
			want[id], value = core.CallSucceeded, strconv.Quote(name)
		case !strings.Contains(got, "may or may not have taken effect"):
			r.t.Errorf("the result of %s is %q", id, got)
		}
	}
	r.wantState(core.RunScope, "n", value)
	r.wantCalls(want)
}
