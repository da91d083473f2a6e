package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// phaseWords say of each phase when its hooks are called and which of their effects count.
// docs/how-it-works/state-machine.md is generated from them.
var phaseWords = map[Phase]struct {
	when    string
	effects []string
}{
	RunStart:          {"once per run, before its first step", []string{"end the run", "make the run wait"}},
	StepStart:         {"before each model call", []string{"end the run"}},
	BeforeInference:   {"directly before the model is called", []string{"add context", "override instructions or parameters", "include or exclude tools", "end the run"}},
	AfterInference:    {"before the model's response is committed and before stop rules are evaluated", []string{"drop calls", "end the run"}},
	ToolGate:          {"for each call with valid arguments; again after a decision; if the state has changed, again before the call runs. These hooks must be pure.", nil},
	BeforeToolExecute: {"before the body of a call runs", []string{"refuse the call"}},
	AfterToolExecute:  {"after each call, whether or not it ran; also when a tool begins to wait", []string{"append a note to the result"}},
	StepEnd:           {"after a step's tool calls, even if the step waits", []string{"end the run"}},
	RunEnd:            {"once per run, after its end is committed", []string{"nothing"}},
}

// phasesText is the part of the page on state machines that says when hooks are called.
func phasesText() string {
	var b strings.Builder
	b.WriteString("\n## Phases of a run\n\n" +
		"[Hooks](../guides/go-programs.md) run in this order. Each step has phases 2 to 8, with phases 5\n" +
		"to 7 for each tool call. Once a waiting call has its answer, it repeats at\n" +
		"most phases 5 to 7.\n\n" +
		"Hooks of one phase don't see each other's results or failures. The next commit makes their results\n" +
		"durable. If a crash prevents that commit, the hooks are called again, but their results count once.\n" +
		"Hooks of all phases except `tool_gate` can change the shared state.\n\n" +
		"| phase | when its hooks are called | what else its hooks can do |\n|---|---|---|\n")
	for i, p := range Phases {
		words := phaseWords[p]
		effects := "make permissions for this call stricter, never looser; set the call's result"
		if p != ToolGate {
			effects = strings.Join(words.effects, ", ")
		}
		fmt.Fprintf(&b, "| %d `%s` | %s | %s |\n", i+1, p, words.when, effects)
	}
	return b.String()
}

func TestPhases(t *testing.T) {
	t.Run("each has a name, a place and words", func(t *testing.T) {
		if len(Phases) != len(phaseNames) || len(phaseWords) != len(Phases) {
			t.Fatalf("%d phases, %d names, %d with words", len(Phases), len(phaseNames), len(phaseWords))
		}
		for i, p := range Phases {
			var back Phase
			text, err := p.MarshalText()
			if int(p) != i || err != nil || back.UnmarshalText(text) != nil || back != p || phaseWords[p].when == "" {
				t.Errorf("phase %d is %s (%v)", i, p, err)
			}
		}
	})
	t.Run("what is no phase has no name", func(t *testing.T) {
		var p Phase
		if p.UnmarshalText([]byte("lunch")) == nil {
			t.Errorf("taken as %s", p)
		}
		if _, err := Phase(200).MarshalText(); err == nil {
			t.Error("200 has a name")
		}
	})
}

func TestEnumsOfTheContractRoundTrip(t *testing.T) {
	enumRoundTrip(t, "scope", scopeNames, func(i int) Scope { return Scope(i) })
	enumRoundTrip(t, "state operation", stateOpNames, func(i int) StateOpKind { return StateOpKind(i) })
	enumRoundTrip(t, "effect", effectNames, func(i int) Effect { return Effect(i) })
	enumRoundTrip(t, "deadline outcome", deadlineNames, func(i int) DeadlineOutcome { return DeadlineOutcome(i) })
}

func enumRoundTrip[E comparable](t *testing.T, what string, names []string, make func(int) E) {
	t.Run("C11 "+what, func(t *testing.T) {
		for i, name := range names {
			var back E
			raw := Encode(make(i))
			if string(raw) != `"`+name+`"` || json.Unmarshal(raw, &back) != nil || back != make(i) {
				t.Errorf("%d is %s and came back as %v", i, raw, back)
			}
		}
		var e E
		if json.Unmarshal([]byte(`"nonsense"`), &e) == nil {
			t.Errorf("nonsense was taken as %v", e)
		}
	})
}
