package stoprule

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func rule(t *testing.T, s Spec) core.StopRule {
	t.Helper()
	r, err := s.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asking is a turn that asks for tools of these names, without arguments.
func asking(tools ...string) core.Turn {
	var turn core.Turn
	for i, name := range tools {
		turn.Calls = append(turn.Calls, core.ToolCall{ID: fmt.Sprint("c", i), Name: name, Arguments: json.RawMessage(`{}`)})
	}
	return turn
}

func TestStopRules(t *testing.T) {
	echo := asking("echo")
	same := func(n int) (rounds []string) {
		for range n {
			rounds = append(rounds, Signature(echo))
		}
		return rounds
	}
	for _, c := range []struct {
		name string
		spec Spec
		p    core.Progress
		stop bool
	}{
		{"C138 5 rounds at 0", Spec{Type: "max_rounds", Rounds: 5}, core.Progress{Steps: 0}, false},
		{"C138 5 rounds at 4", Spec{Type: "max_rounds", Rounds: 5}, core.Progress{Steps: 4}, false},
		{"C138 5 rounds at 5", Spec{Type: "max_rounds", Rounds: 5}, core.Progress{Steps: 5}, true},
		{"C138 5 rounds at 6", Spec{Type: "max_rounds", Rounds: 5}, core.Progress{Steps: 6}, true},
		{"C143 1000 tokens at 900", Spec{Type: "token_budget", MaxTotal: 1000}, core.Progress{Tokens: 400 + 500}, false},
		{"C143 1000 tokens at 1000", Spec{Type: "token_budget", MaxTotal: 1000}, core.Progress{Tokens: 500 + 500}, false},
		{"C143 1000 tokens at 1001", Spec{Type: "token_budget", MaxTotal: 1000}, core.Progress{Tokens: 501 + 500}, true},
		{"C145 5 s at 4999 ms", Spec{Type: "timeout", Seconds: 5}, core.Progress{Awake: 4999}, false},
		{"C145 5 s at 5000 ms", Spec{Type: "timeout", Seconds: 5}, core.Progress{Awake: 5000}, false},
		{"C145 5 s at 5001 ms", Spec{Type: "timeout", Seconds: 5}, core.Progress{Awake: 5001}, true},
		{"C148 3 errors at 2", Spec{Type: "consecutive_errors", Max: 3}, core.Progress{Errors: 2}, false},
		{"C148 3 errors at 3", Spec{Type: "consecutive_errors", Max: 3}, core.Progress{Errors: 3}, true},
		{"C148 3 errors at 4", Spec{Type: "consecutive_errors", Max: 3}, core.Progress{Errors: 4}, true},
		{"C152 another tool", Spec{Type: "stop_on_tool", ToolName: "finish"}, core.Progress{Turn: echo}, false},
		{"C152 the tool", Spec{Type: "stop_on_tool", ToolName: "finish"}, core.Progress{Turn: asking("finish")}, true},
		{"C152 the tool among others", Spec{Type: "stop_on_tool", ToolName: "finish"}, core.Progress{Turn: asking("echo", "finish")}, true},
		{"C152 a name that only begins like it", Spec{Type: "stop_on_tool", ToolName: "finish"}, core.Progress{Turn: asking("finisher")}, false},
		{"C153 a literal", Spec{Type: "content_match", Pattern: "all done"}, core.Progress{Turn: core.Turn{Text: "it is all done now"}}, true},
		{"C153 a literal that is not there", Spec{Type: "content_match", Pattern: "all done"}, core.Progress{Turn: core.Turn{Text: "done"}}, false},
		{"C153 a regular expression", Spec{Type: "content_match", Pattern: `(?i)order \d+ is closed$`}, core.Progress{Turn: core.Turn{Text: "Order 17 is closed"}}, true},
		{"C153 an empty pattern", Spec{Type: "content_match"}, core.Progress{Turn: core.Turn{Text: "anything"}}, false},
		{"C154 two equal rounds, window 2", Spec{Type: "loop_detection", Window: 2}, core.Progress{Turn: echo, Rounds: same(1)}, true},
		{"C154 different rounds", Spec{Type: "loop_detection", Window: 2}, core.Progress{Turn: echo, Rounds: []string{Signature(asking("calc"))}}, false},
		{"C154 one round", Spec{Type: "loop_detection", Window: 2}, core.Progress{Turn: echo}, false},
		{"C154 window 1 is 2: one round", Spec{Type: "loop_detection", Window: 1}, core.Progress{Turn: echo}, false},
		{"C154 window 1 is 2: two rounds", Spec{Type: "loop_detection", Window: 1}, core.Progress{Turn: echo, Rounds: same(1)}, true},
		{"C154 window 3 at two", Spec{Type: "loop_detection", Window: 3}, core.Progress{Turn: echo, Rounds: same(1)}, false},
		{"C154 window 3 at three", Spec{Type: "loop_detection", Window: 3}, core.Progress{Turn: echo, Rounds: same(2)}, true},
		{"C154 equal, but not in a row", Spec{Type: "loop_detection", Window: 2}, core.Progress{Turn: echo, Rounds: []string{Signature(echo), Signature(asking("calc"))}}, false},
		{"C154 two turns that ask for nothing are no loop", Spec{Type: "loop_detection", Window: 2}, core.Progress{Rounds: []string{Signature(core.Turn{})}}, false},
		{"C154 a window beyond what a head remembers is cut to that", Spec{Type: "loop_detection", Window: 1000}, core.Progress{Turn: echo, Rounds: same(core.MostRounds)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, detail, stop := rule(t, c.spec).Stop(c.p)
			if stop != c.stop || stop && (code != c.spec.Type || detail == "") {
				t.Errorf("stop %v, code %q, detail %q; want stop %v", stop, code, detail, c.stop)
			}
		})
	}
	t.Run("C152 the detail is the tool", func(t *testing.T) {
		if _, detail, _ := rule(t, Spec{Type: "stop_on_tool", ToolName: "finish"}).Stop(core.Progress{Turn: asking("finish")}); detail != "finish" {
			t.Errorf("detail %q", detail)
		}
	})
	t.Run("C153 an invalid pattern is refused, and stops if it was stored all the same", func(t *testing.T) {
		r, err := Spec{Type: "content_match", Pattern: "("}.Rule()
		if err == nil {
			t.Error("not refused")
		}
		if code, _, stop := r.Stop(core.Progress{}); !stop || code != "content_match_invalid_regex" {
			t.Errorf("stop %v with code %q", stop, code)
		}
	})
	t.Run("what is no rule is refused", func(t *testing.T) {
		if r, err := (Spec{Type: "full_moon"}).Rule(); err == nil || r != nil {
			t.Errorf("rule %v (%v)", r, err)
		}
	})
}

func TestC142ARuleWithZeroNeverFires(t *testing.T) {
	for kind := range StopMembers {
		t.Run("C142 "+kind, func(t *testing.T) {
			r := rule(t, Spec{Type: kind})
			turn := asking("echo", "")
			for step := range 1001 {
				p := core.Progress{Steps: step, Tokens: 999_999, Awake: 1 << 40, Errors: step, Turn: turn}
				for range min(step, core.MostRounds) {
					p.Rounds = append(p.Rounds, Signature(turn))
				}
				if _, _, stop := r.Stop(p); stop {
					t.Fatalf("stopped at step %d", step)
				}
			}
		})
	}
}

func TestTheFirstRuleThatFiresCounts(t *testing.T) {
	rounds := rule(t, Spec{Type: "max_rounds", Rounds: 5})
	tokens := rule(t, Spec{Type: "token_budget", MaxTotal: 100_000})
	match := rule(t, Spec{Type: "content_match", Pattern: "done"})
	seconds := rule(t, Spec{Type: "timeout", Seconds: 1})
	for _, c := range []struct {
		name  string
		rules []core.StopRule
		p     core.Progress
		code  string
	}{
		{"C156 only the one that is exceeded", []core.StopRule{rounds, tokens}, core.Progress{Steps: 10, Tokens: 100, Turn: asking("echo")}, "max_rounds"},
		{"C158 the first in declared order", []core.StopRule{tokens, rounds}, core.Progress{Steps: 10, Tokens: 200_000, Turn: asking("echo")}, "token_budget"},
		{"C158 the other order, the other code", []core.StopRule{rounds, tokens}, core.Progress{Steps: 10, Tokens: 200_000, Turn: asking("echo")}, "max_rounds"},
		{"no rule", nil, core.Progress{Steps: 10, Turn: asking("echo")}, ""},
		{"a natural end outweighs rounds, tokens and time", []core.StopRule{rounds, tokens, seconds}, core.Progress{Steps: 10, Tokens: 200_000, Awake: 5000, Turn: core.Turn{Text: "bye"}}, ""},
		{"a match outweighs a natural end", []core.StopRule{rounds, match}, core.Progress{Steps: 10, Turn: core.Turn{Text: "done"}}, "content_match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := First(c.rules, c.p, len(c.p.Turn.Calls) == 0)
			code := ""
			if got != nil {
				code = got.Code
			}
			if code != c.code || got != nil && got.Kind != core.Stopped {
				t.Errorf("got %+v, want code %q", got, c.code)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	of := func(name, args string) string {
		return Signature(core.Turn{Text: name + args, Calls: []core.ToolCall{{ID: name + args, Name: name, Arguments: json.RawMessage(args)}}})
	}
	if of("echo", `{"a":1,"b":2}`) != of("echo", ` { "b" : 2, "a":1}`) {
		t.Error("the order of members counts")
	}
	for _, other := range []string{of("echo", `{"a":1,"b":3}`), of("calc", `{"a":1,"b":2}`), of("echo", `not JSON`), Signature(core.Turn{})} {
		if other == of("echo", `{"a":1,"b":2}`) {
			t.Error("different calls have one signature")
		}
	}
	if Signature(asking("a", "b")) == Signature(asking("b", "a")) {
		t.Error("the order of calls does not count")
	}
}
