package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// stopped plays a run under stop rules.
func stopped(t *testing.T, turns []core.Turn, specs ...stoprule.Spec) *rig {
	r := newRig(t, turns...)
	r.stopping(t, specs...)
	return r.play()
}

func TestStops(t *testing.T) {
	t.Run("C139 HF13 max_rounds 1 stops at the first turn; the step ends before the run does", func(t *testing.T) {
		r := stopped(t, echoing(3), stoprule.Spec{Type: "max_rounds", Rounds: 1})
		r.wantEnd(core.Stopped, "max_rounds")
		step, turn := r.places(core.EventStepEnded), r.places(core.EventTurnEnded)
		if len(step) != 1 || len(turn) != 1 || step[0] > turn[0] {
			t.Errorf("the step ends at %v, the turn at %v", step, turn)
		}
	})
	t.Run("C140 max_rounds 3: the tools of two rounds ran, those of the third are closed with a result", func(t *testing.T) {
		r := stopped(t, echoing(5), stoprule.Spec{Type: "max_rounds", Rounds: 3})
		r.wantEnd(core.Stopped, "max_rounds")
		r.wantRan(`echo{"n":0}`, `echo{"n":1}`)
		r.wantAsked(3)
		if got := r.resultOf("c2"); got != "Not run: the run ended first (stopped: max_rounds)." {
			t.Errorf("the result of c2 is %q", got)
		}
		if h := r.head(); h.Step != 3 || h.Calls["c2"].Status != core.CallCancelled {
			t.Errorf("%d steps, calls %+v", h.Step, h.Calls)
		}
		wellFormed(t, core.TranscriptOf(r.log()))
	})
	t.Run("C140 the text of the turn that is stopped is kept", func(t *testing.T) {
		r := stopped(t, []core.Turn{{Text: "let me see", Calls: []core.ToolCall{call("c1", "echo", `{}`)}}}, stoprule.Spec{Type: "max_rounds", Rounds: 1})
		r.wantConversation("user: hi", "assistant[c1]: let me see", "tool(c1): Not run: the run ended first (stopped: max_rounds).")
	})
	t.Run("C144 a token budget of 500 stops at the second turn of 300", func(t *testing.T) {
		turns := echoing(3)
		for i := range turns {
			turns[i].InputTokens, turns[i].OutputTokens = 200, 100
		}
		r := stopped(t, turns, stoprule.Spec{Type: "token_budget", MaxTotal: 500})
		r.wantEnd(core.Stopped, "token_budget")
		r.wantAsked(2)
		r.wantRan(`echo{"n":0}`)
	})
	t.Run("C145 C147 the time counts from the start of the run, the first model call included", func(t *testing.T) {
		for ms, stops := range map[time.Duration]bool{4999: false, 5000: false, 5001: true} {
			r := newRig(t, echoing(1)...)
			r.stopping(t, stoprule.Spec{Type: "timeout", Seconds: 5})
			r.onAsk = func(_ context.Context, p engine.Prompt) error {
				if p.Step == 1 {
					r.clock.Advance(ms * time.Millisecond)
				}
				return nil
			}
			r.play()
			want, code := core.NaturalEnd, ""
			if stops {
				want, code = core.Stopped, "timeout"
			}
			r.wantEnd(want, code)
		}
	})
	t.Run("C147 the time asleep does not count, that of earlier turns does", func(t *testing.T) {
		for ms, stops := range map[time.Duration]bool{2500: false, 2501: true} {
			r := newRig(t, calls(call("c1", "pay", `{}`)), calls(call("c2", "echo", `{}`)), says("done"))
			r.ask("pay")
			r.stopping(t, stoprule.Spec{Type: "timeout", Seconds: 5})
			r.onAsk = func(_ context.Context, p engine.Prompt) error {
				r.clock.Advance(map[int]time.Duration{1: 2500, 2: ms}[p.Step] * time.Millisecond)
				return nil
			}
			r.play()
			r.clock.Advance(72 * time.Hour)
			r.must(r.decide("c1", resume("d", `true`)))
			r.work()
			if h := r.head(); (h.End.Code == "timeout") != stops {
				t.Errorf("%d ms: end %+v after %d ms awake", ms, h.End, h.Awake)
			}
		}
	})
	t.Run("C148 C150 rounds in which every tool failed are counted, one success forgets them", func(t *testing.T) {
		bad := func(id string) core.Turn { return calls(call(id, "bad", `{"id":"`+id+`"}`)) }
		mixed := func(id string) core.Turn { return calls(call(id, "bad", `{}`), call(id+"b", "echo", `{}`)) }
		for _, c := range []struct {
			name  string
			turns []core.Turn
			asked int
			end   string
		}{
			{"C148 three in a row", []core.Turn{bad("a"), bad("b"), bad("c"), bad("d"), bad("e")}, 4, "consecutive_errors"},
			{"C150 a success among them", []core.Turn{bad("a"), bad("b"), mixed("c"), bad("d"), bad("e"), says("done")}, 6, ""},
			{"C150 a round that executed nothing is no failure", []core.Turn{bad("a"), bad("b"), calls(call("x", "nope", `{}`)), bad("c"), bad("d"), says("done")}, 6, ""},
			{"C150 three in a row behind it", []core.Turn{bad("a"), calls(call("x", "nope", `{}`)), bad("b"), bad("c"), bad("d"), bad("e")}, 6, "consecutive_errors"},
			{"C150 a round that was refused is no failure", []core.Turn{bad("a"), bad("b"), calls(call("x", "forbidden", `{}`)), bad("c"), bad("d"), says("done")}, 6, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := newRig(t, c.turns...)
				r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
					return core.Outcome{}, errors.New("no luck")
				}})
				r.tool("forbidden", toolRule{effect: core.Deny, reason: "no"})
				r.stopping(t, stoprule.Spec{Type: "consecutive_errors", Max: 3})
				r.play()
				if end := r.head().End; end.Code != c.end {
					t.Errorf("end %+v", end)
				}
				r.wantAsked(c.asked)
			})
		}
	})
	t.Run("C152 stop_on_tool: go on until it is asked for, then stop without it", func(t *testing.T) {
		r := stopped(t, []core.Turn{calls(call("c1", "echo", `{}`)), calls(call("c2", "other", `{}`))}, stoprule.Spec{Type: "stop_on_tool", ToolName: "other"})
		r.wantEnd(core.Stopped, "stop_on_tool")
		r.wantRan("echo{}")
		if end := r.head().End; end.Detail != "other" {
			t.Errorf("end %+v", end)
		}
	})
	t.Run("C153 content_match outweighs the natural end of the turn it looks at", func(t *testing.T) {
		for pattern, code := range map[string]string{"done": "content_match", "^d.n.$": "content_match", "": "", "undone": ""} {
			r := stopped(t, []core.Turn{says("done")}, stoprule.Spec{Type: "content_match", Pattern: pattern})
			if end := r.head().End; end.Code != code {
				t.Errorf("%q: end %+v", pattern, end)
			}
		}
	})
	t.Run("C154 the same calls twice in a row, in whatever spelling; other calls between are no loop", func(t *testing.T) {
		for _, c := range []struct {
			args []string
			code string
		}{
			{[]string{`{"a":1,"b":2}`, `{ "b":2, "a":1 }`}, "loop_detection"},
			{[]string{`{"a":1}`, `{"a":2}`, `{"a":1}`}, ""},
			{[]string{`{"a":1}`}, ""},
		} {
			var turns []core.Turn
			for i, args := range c.args {
				turns = append(turns, calls(call(fmt.Sprint("c", i), "echo", args)))
			}
			r := stopped(t, append(turns, says("done")), stoprule.Spec{Type: "loop_detection", Window: 2})
			if end := r.head().End; end.Code != c.code {
				t.Errorf("%v: end %+v", c.args, end)
			}
		}
	})
	t.Run("C154 a loop of three is seen across waits and processes", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), calls(call("c2", "pay", `{}`)), calls(call("c3", "pay", `{}`)))
		r.ask("pay")
		r.stopping(t, stoprule.Spec{Type: "loop_detection", Window: 3})
		r.play()
		for _, id := range []string{"c1", "c2"} {
			r.build(engine.Options{})
			r.must(r.decide(id, resume("d", `true`)))
			r.work()
		}
		r.wantEnd(core.Stopped, "loop_detection")
		r.wantRan("pay{}", "pay{}")
	})
	t.Run("C156 C158 the first rule in declared order that fires counts", func(t *testing.T) {
		turns := echoing(2)
		turns[0].InputTokens = 5000
		rounds, tokens := stoprule.Spec{Type: "max_rounds", Rounds: 1}, stoprule.Spec{Type: "token_budget", MaxTotal: 100}
		stopped(t, turns, rounds, tokens).wantEnd(core.Stopped, "max_rounds")
		stopped(t, turns, tokens, rounds).wantEnd(core.Stopped, "token_budget")
		stopped(t, turns, stoprule.Spec{Type: "token_budget", MaxTotal: 100_000}, rounds).wantEnd(core.Stopped, "max_rounds")
	})
	t.Run("C158 a rule of a hook is asked after those of the definition", func(t *testing.T) {
		r := newRig(t, echoing(2)...)
		r.hooks = append(r.hooks, stopHook{})
		r.play()
		r.wantEnd(core.Stopped, "hooked")
		r = newRig(t, echoing(2)...)
		r.hooks = append(r.hooks, stopHook{})
		r.stopping(t, stoprule.Spec{Type: "max_rounds", Rounds: 1})
		r.play()
		r.wantEnd(core.Stopped, "max_rounds")
	})
	t.Run("a natural end wins over the limits that the last turn reached", func(t *testing.T) {
		turn := says("done")
		turn.InputTokens = 5000
		r := stopped(t, []core.Turn{turn}, stoprule.Spec{Type: "max_rounds", Rounds: 1}, stoprule.Spec{Type: "token_budget", MaxTotal: 100})
		r.wantEnd(core.NaturalEnd, "")
	})
	t.Run("C159 counters are the same after a reload, and go on over a wait", func(t *testing.T) {
		turns := append(echoing(2)[:2], calls(call("p1", "pay", `{}`)), calls(call("c9", "echo", `{}`)), says("done"))
		for i := range turns {
			turns[i].InputTokens, turns[i].OutputTokens = 100, 10
		}
		r := newRig(t, turns...)
		r.ask("pay")
		r.stopping(t, stoprule.Spec{Type: "max_rounds", Rounds: 100}, stoprule.Spec{Type: "loop_detection", Window: 4})
		r.onAsk = func(context.Context, engine.Prompt) error { r.clock.Advance(time.Second); return nil }
		r.play()
		before := r.head()
		if before.Step != 3 || before.InputTokens != 300 || before.OutputTokens != 30 || before.ToolCalls != 3 || before.Awake != 3000 || len(before.Rounds) != 3 {
			t.Errorf("waiting: %+v, %+v", before.Counters, before.Budget)
		}
		r.build(engine.Options{})
		r.clock.Advance(72 * time.Hour)
		r.must(r.decide("p1", resume("d", `true`)))
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		if after := r.head(); after.Step != 5 || after.InputTokens != 500 || after.ToolCalls != 4 || after.Awake != 5000 {
			t.Errorf("done: %+v, %+v", after.Counters, after.Budget)
		}
	})
	t.Run("HF13 the run after one that was stopped begins with fresh budgets", func(t *testing.T) {
		r := stopped(t, append(echoing(1)[:1], echoing(1)[0], says("done")), stoprule.Spec{Type: "max_rounds", Rounds: 2})
		r.wantEnd(core.Stopped, "max_rounds")
		r.succeed("go on")
		r.wantEnd(core.NaturalEnd, "")
		if h := r.head(); h.Step != 1 || h.ToolCalls != 0 {
			t.Errorf("%d steps, %d calls", h.Step, h.ToolCalls)
		}
	})
}

// stopHook is a hook that is a stop rule.
type stopHook struct{}

func (stopHook) Name() string { return "stops" }
func (stopHook) Stop(core.Progress) (code, detail string, stop bool) {
	return "hooked", "by a hook", true
}
