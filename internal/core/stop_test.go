package core

import (
	"encoding/json"
	"fmt"
	"testing"
)

func rule(t *testing.T, s StopSpec) StopRule {
	t.Helper()
	r, err := s.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asking is a turn that asks for tools of these names, without arguments.
func asking(tools ...string) Turn {
	var turn Turn
	for i, name := range tools {
		turn.Calls = append(turn.Calls, ToolCall{ID: fmt.Sprint("c", i), Name: name, Arguments: json.RawMessage(`{}`)})
	}
	return turn
}

func TestStopRules(t *testing.T) {
	echo := asking("echo")
	same := func(n int) (rounds []string) {
		for range n {
			rounds = append(rounds, echo.Signature())
		}
		return rounds
	}
	for _, c := range []struct {
		name string
		spec StopSpec
		p    Progress
		stop bool
	}{
		{"C138 5 rounds at 0", StopSpec{Type: "max_rounds", Rounds: 5}, Progress{Steps: 0}, false},
		{"C138 5 rounds at 4", StopSpec{Type: "max_rounds", Rounds: 5}, Progress{Steps: 4}, false},
		{"C138 5 rounds at 5", StopSpec{Type: "max_rounds", Rounds: 5}, Progress{Steps: 5}, true},
		{"C138 5 rounds at 6", StopSpec{Type: "max_rounds", Rounds: 5}, Progress{Steps: 6}, true},
		{"C143 1000 tokens at 900", StopSpec{Type: "token_budget", MaxTotal: 1000}, Progress{Tokens: 400 + 500}, false},
		{"C143 1000 tokens at 1000", StopSpec{Type: "token_budget", MaxTotal: 1000}, Progress{Tokens: 500 + 500}, false},
		{"C143 1000 tokens at 1001", StopSpec{Type: "token_budget", MaxTotal: 1000}, Progress{Tokens: 501 + 500}, true},
		{"C145 5 s at 4999 ms", StopSpec{Type: "timeout", Seconds: 5}, Progress{Awake: 4999}, false},
		{"C145 5 s at 5000 ms", StopSpec{Type: "timeout", Seconds: 5}, Progress{Awake: 5000}, false},
		{"C145 5 s at 5001 ms", StopSpec{Type: "timeout", Seconds: 5}, Progress{Awake: 5001}, true},
		{"C148 3 errors at 2", StopSpec{Type: "consecutive_errors", Max: 3}, Progress{Errors: 2}, false},
		{"C148 3 errors at 3", StopSpec{Type: "consecutive_errors", Max: 3}, Progress{Errors: 3}, true},
		{"C148 3 errors at 4", StopSpec{Type: "consecutive_errors", Max: 3}, Progress{Errors: 4}, true},
		{"C152 another tool", StopSpec{Type: "stop_on_tool", ToolName: "finish"}, Progress{Turn: echo}, false},
		{"C152 the tool", StopSpec{Type: "stop_on_tool", ToolName: "finish"}, Progress{Turn: asking("finish")}, true},
		{"C152 the tool among others", StopSpec{Type: "stop_on_tool", ToolName: "finish"}, Progress{Turn: asking("echo", "finish")}, true},
		{"C152 a name that only begins like it", StopSpec{Type: "stop_on_tool", ToolName: "finish"}, Progress{Turn: asking("finisher")}, false},
		{"C153 a literal", StopSpec{Type: "content_match", Pattern: "all done"}, Progress{Turn: Turn{Text: "it is all done now"}}, true},
		{"C153 a literal that is not there", StopSpec{Type: "content_match", Pattern: "all done"}, Progress{Turn: Turn{Text: "done"}}, false},
		{"C153 a regular expression", StopSpec{Type: "content_match", Pattern: `(?i)order \d+ is closed$`}, Progress{Turn: Turn{Text: "Order 17 is closed"}}, true},
		{"C153 an empty pattern", StopSpec{Type: "content_match"}, Progress{Turn: Turn{Text: "anything"}}, false},
		{"C154 two equal rounds, window 2", StopSpec{Type: "loop_detection", Window: 2}, Progress{Turn: echo, Rounds: same(1)}, true},
		{"C154 different rounds", StopSpec{Type: "loop_detection", Window: 2}, Progress{Turn: echo, Rounds: []string{asking("calc").Signature()}}, false},
		{"C154 one round", StopSpec{Type: "loop_detection", Window: 2}, Progress{Turn: echo}, false},
		{"C154 window 1 is 2: one round", StopSpec{Type: "loop_detection", Window: 1}, Progress{Turn: echo}, false},
		{"C154 window 1 is 2: two rounds", StopSpec{Type: "loop_detection", Window: 1}, Progress{Turn: echo, Rounds: same(1)}, true},
		{"C154 window 3 at two", StopSpec{Type: "loop_detection", Window: 3}, Progress{Turn: echo, Rounds: same(1)}, false},
		{"C154 window 3 at three", StopSpec{Type: "loop_detection", Window: 3}, Progress{Turn: echo, Rounds: same(2)}, true},
		{"C154 equal, but not in a row", StopSpec{Type: "loop_detection", Window: 2}, Progress{Turn: echo, Rounds: []string{echo.Signature(), asking("calc").Signature()}}, false},
		{"C154 two turns that ask for nothing are no loop", StopSpec{Type: "loop_detection", Window: 2}, Progress{Rounds: []string{Turn{}.Signature()}}, false},
		{"C154 a window beyond what a head remembers is cut to that", StopSpec{Type: "loop_detection", Window: 1000}, Progress{Turn: echo, Rounds: same(mostRounds)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, detail, stop := rule(t, c.spec).Stop(c.p)
			if stop != c.stop || stop && (code != c.spec.Type || detail == "") {
				t.Errorf("stop %v, code %q, detail %q; want stop %v", stop, code, detail, c.stop)
			}
		})
	}
	t.Run("C152 the detail is the tool", func(t *testing.T) {
		if _, detail, _ := rule(t, StopSpec{Type: "stop_on_tool", ToolName: "finish"}).Stop(Progress{Turn: asking("finish")}); detail != "finish" {
			t.Errorf("detail %q", detail)
		}
	})
	t.Run("C153 an invalid pattern is refused, and stops if it was stored all the same", func(t *testing.T) {
		r, err := StopSpec{Type: "content_match", Pattern: "("}.Rule()
		if err == nil {
			t.Error("not refused")
		}
		if code, _, stop := r.Stop(Progress{}); !stop || code != "content_match_invalid_regex" {
			t.Errorf("stop %v with code %q", stop, code)
		}
	})
	t.Run("what is no rule is refused", func(t *testing.T) {
		if r, err := (StopSpec{Type: "full_moon"}).Rule(); err == nil || r != nil {
			t.Errorf("rule %v (%v)", r, err)
		}
	})
}

func TestC142ARuleWithZeroNeverFires(t *testing.T) {
	for kind := range stopMembers {
		t.Run("C142 "+kind, func(t *testing.T) {
			r := rule(t, StopSpec{Type: kind})
			turn := asking("echo", "")
			for step := range 1001 {
				p := Progress{Steps: step, Tokens: 999_999, Awake: 1 << 40, Errors: step, Turn: turn}
				for range min(step, mostRounds) {
					p.Rounds = append(p.Rounds, turn.Signature())
				}
				if _, _, stop := r.Stop(p); stop {
					t.Fatalf("stopped at step %d", step)
				}
			}
		})
	}
}

func TestStopOf(t *testing.T) {
	rounds := rule(t, StopSpec{Type: "max_rounds", Rounds: 5})
	tokens := rule(t, StopSpec{Type: "token_budget", MaxTotal: 100_000})
	match := rule(t, StopSpec{Type: "content_match", Pattern: "done"})
	seconds := rule(t, StopSpec{Type: "timeout", Seconds: 1})
	for _, c := range []struct {
		name  string
		rules []StopRule
		p     Progress
		code  string
	}{
		{"C156 only the one that is exceeded", []StopRule{rounds, tokens}, Progress{Steps: 10, Tokens: 100, Turn: asking("echo")}, "max_rounds"},
		{"C158 the first in declared order", []StopRule{tokens, rounds}, Progress{Steps: 10, Tokens: 200_000, Turn: asking("echo")}, "token_budget"},
		{"C158 the other order, the other code", []StopRule{rounds, tokens}, Progress{Steps: 10, Tokens: 200_000, Turn: asking("echo")}, "max_rounds"},
		{"no rule", nil, Progress{Steps: 10, Turn: asking("echo")}, ""},
		{"a natural end outweighs rounds, tokens and time", []StopRule{rounds, tokens, seconds}, Progress{Steps: 10, Tokens: 200_000, Awake: 5000, Turn: Turn{Text: "bye"}}, ""},
		{"a match outweighs a natural end", []StopRule{rounds, match}, Progress{Steps: 10, Turn: Turn{Text: "done"}}, "content_match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := stopOf(c.rules, c.p, len(c.p.Turn.Calls) == 0)
			code := ""
			if got != nil {
				code = got.Code
			}
			if code != c.code || got != nil && got.Kind != Stopped {
				t.Errorf("got %+v, want code %q", got, c.code)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	of := func(name, args string) string {
		return Turn{Text: name + args, Calls: []ToolCall{{ID: name + args, Name: name, Arguments: json.RawMessage(args)}}}.Signature()
	}
	if of("echo", `{"a":1,"b":2}`) != of("echo", ` { "b" : 2, "a":1}`) {
		t.Error("the order of members counts")
	}
	for _, other := range []string{of("echo", `{"a":1,"b":3}`), of("calc", `{"a":1,"b":2}`), of("echo", `not JSON`), (Turn{}).Signature()} {
		if other == of("echo", `{"a":1,"b":2}`) {
			t.Error("different calls have one signature")
		}
	}
	if asking("a", "b").Signature() == asking("b", "a").Signature() {
		t.Error("the order of calls does not count")
	}
}
