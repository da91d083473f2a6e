package core

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

const phasesDoc = "../../docs/how-it-works/phases.md"

func TestPhasesDocument(t *testing.T) {
	want := phasesText()
	if *update {
		if err := os.WriteFile(phasesDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(phasesDoc)
	if err != nil || string(got) != want {
		t.Errorf("docs/how-it-works/phases.md is not what the table says (%v): go test ./internal/core -run Phases -update", err)
	}
}

func phasesText() string {
	var b strings.Builder
	b.WriteString("# The phases of a run\n\n" +
		"Generated from `internal/core/phase.go` by its test; do not edit. Hooks are called in this order: 2 to 8 once for each step, and of these\n" +
		"5 to 7 once for each of its calls. The hooks of one phase see neither what another of them writes nor how it fails. What they want becomes\n" +
		"durable with the commit that follows; after a crash before it they are called again, and their effects count once. An effect counts in the\n" +
		"phases that name it and nowhere else.\n\n" +
		"| | phase | when its hooks are called | effects that count |\n|---|---|---|---|\n")
	for i, p := range Phases {
		words := phaseWords[p]
		effects := "a verdict, which can only be stricter than the permissions"
		if p != ToolGate {
			effects = strings.Join(words.effects, ", ")
		}
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", i+1, p, words.when, effects)
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
