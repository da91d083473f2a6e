package core

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const phasesDoc = "../../docs/phases.md"

func TestPhasesDocument(t *testing.T) {
	want := phasesText()
	if *update {
		if err := os.WriteFile(phasesDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(phasesDoc)
	if err != nil || string(got) != want {
		t.Errorf("docs/phases.md is not what the table says (%v): go test ./internal/core -run Phases -update", err)
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

func TestJoin(t *testing.T) {
	end := &Reason{Kind: BehaviorRequested, Detail: "first"}
	set := func(key, value string) []StateOp {
		return []StateOp{{Key: key, Op: StateSet, Value: json.RawMessage(value)}}
	}
	for _, c := range []struct {
		name   string
		wishes []Effects
		want   Effects
	}{
		{"nothing", []Effects{{}, {}}, Effects{}},
		{"C61 both writes are there", []Effects{{State: set("a", "1")}, {State: set("b", "2")}}, Effects{State: append(set("a", "1"), set("b", "2")...)}},
		{"the first that ends counts", []Effects{{}, {End: end}, {End: &Reason{Kind: Stopped}}}, Effects{End: end}},
		{"the first that refuses counts", []Effects{{Refuse: "a"}, {Refuse: "b"}}, Effects{Refuse: "a"}},
		{"what is appended stands line by line", []Effects{{Append: "a"}, {}, {Append: "b"}}, Effects{Append: "a\nb"}},
		{"C69 offered is what every hook offers", []Effects{{Include: []string{"a", "b"}}, {Include: []string{"b", "c"}}, {Exclude: []string{"c"}}},
			Effects{Include: []string{"b"}, Exclude: []string{"c"}}},
		{"C69 nothing in common is no tool", []Effects{{Include: []string{"a"}}, {Include: []string{"b"}}}, Effects{Include: []string{""}}},
		{"of two overrides the later, member by member", []Effects{{Override: &Override{Instructions: "a", Parameters: map[string]any{"x": 1, "y": 1}}},
			{Override: &Override{Parameters: map[string]any{"y": 2}}}},
			Effects{Override: &Override{Instructions: "a", Parameters: map[string]any{"x": 1, "y": 2}}}},
		{"failures are all told", []Effects{{Notes: []string{"a"}}, {Notes: []string{"b"}}}, Effects{Notes: []string{"a", "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Join(c.wishes); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("two hooks that write one exclusive key: nothing of the phase counts but what failed", func(t *testing.T) {
		got := Join([]Effects{{State: set("k", "1"), Append: "x", Notes: []string{"n"}}, {State: set("k", "2"), End: end}})
		if got.Conflict == "" || got.State != nil || got.End != nil || got.Append != "" || !slices.Equal(got.Notes, []string{"n"}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the wishes stay as they are", func(t *testing.T) {
		a := Effects{Include: append(make([]string, 0, 8), "a", "b"), Override: &Override{Parameters: map[string]any{"x": 1}}}
		Join([]Effects{a, {Include: []string{"b"}, Override: &Override{Parameters: map[string]any{"x": 2}}}})
		if !slices.Equal(a.Include, []string{"a", "b"}) || a.Override.Parameters["x"] != 1 {
			t.Errorf("became %+v", a)
		}
	})
}
