package engine_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/effects"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestPhases(t *testing.T) {
	t.Run("C35 the phases of a run with one tool, in order", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		p := r.watching("p")
		r.play()
		p.wantOrder(t, "run_start", "step_start", "before_inference", "after_inference", "before_tool_execute c1", "after_tool_execute c1", "step_end",
			"step_start", "before_inference", "after_inference", "step_end", "run_end")
		gate, before := slices.Index(p.seen, "tool_gate c1"), slices.Index(p.seen, "before_tool_execute c1")
		if after := slices.Index(p.seen, "after_inference"); gate < after || gate > before {
			t.Errorf("the gate is not between the turn and the body: %v", p.seen)
		}
	})
	t.Run("C219 a run of one turn goes through each phase once", func(t *testing.T) {
		r := newRig(t, says("done"))
		p := r.watching("p")
		r.play()
		p.wantOrder(t, "run_start", "step_start", "before_inference", "after_inference", "step_end", "run_end")
	})
	t.Run("C36 a tool that waits: its result is seen, the step ends, the run does not", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wizard", `{}`)), says("done"))
		p := r.watching("p")
		r.suspending("wizard", core.ReplayToolCall, 1)
		r.play()
		r.wantRun(core.RunWaiting, 0)
		first := []string{"run_start", "step_start", "before_inference", "after_inference", "before_tool_execute c1", "after_tool_execute c1", "step_end"}
		p.wantOrder(t, first...)
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		p.wantOrder(t, append(first, "before_tool_execute c1", "after_tool_execute c1",
			"step_start", "before_inference", "after_inference", "step_end", "run_end")...)
	})
	t.Run("a call that a person refuses is seen after, not before", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		p := r.watching("p")
		r.ask("pay")
		r.play()
		r.must(r.decide("c1", cancelled("d", "no")))
		r.work()
		if p.times("before_tool_execute") != 0 || p.times("after_tool_execute c1") != 1 {
			t.Errorf("hooks were called %v", p.seen)
		}
	})
	for _, c := range []struct {
		name string
		rig  func(t *testing.T) (*rig, *probe)
		kind core.ReasonKind
	}{
		{"a natural end", func(t *testing.T) (*rig, *probe) {
			r := newRig(t, says("done"))
			p := r.watching("p")
			return r.play(), p
		}, core.NaturalEnd},
		{"a stop rule", func(t *testing.T) (*rig, *probe) {
			r := newRig(t, calls(call("c1", "echo", `{}`)))
			r.stopping(t, stoprule.Spec{Type: "max_rounds", Rounds: 1})
			p := r.watching("p")
			return r.play(), p
		}, core.Stopped},
		{"a cancel while it waits", func(t *testing.T) (*rig, *probe) {
			r := newRig(t, calls(call("c1", "pay", `{}`)))
			r.ask("pay")
			p := r.watching("p")
			r.play()
			r.must(r.cancel())
			r.work()
			return r, p
		}, core.Cancelled},
		{"a block", func(t *testing.T) (*rig, *probe) {
			r := newRig(t, calls(call("c1", "pay", `{}`)))
			r.tool("pay", toolRule{effect: core.Block})
			p := r.watching("p")
			return r.play(), p
		}, core.Blocked},
		{"an error", func(t *testing.T) (*rig, *probe) {
			r := newRig(t)
			r.onAsk = func(context.Context, engine.Prompt) error { return &engine.ModelError{Detail: "no credit"} }
			p := r.watching("p")
			return r.play(), p
		}, core.Failed},
	} {
		t.Run("C37 the end of the run comes last and once: "+c.name, func(t *testing.T) {
			r, p := c.rig(t)
			r.wantRun(core.RunDone, c.kind)
			if last := p.order()[len(p.order())-1]; last != "run_end" || p.times("run_end") != 1 || p.times("run_start") != 1 {
				t.Errorf("hooks were called %v", p.seen)
			}
			if p.times("step_end") > p.times("step_start") {
				t.Errorf("more steps end than start: %v", p.seen)
			}
		})
	}
	t.Run("start and end of the run once over waits, resumes and new processes", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), calls(call("c2", "wizard", `{}`)), calls(call("c3", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.suspending("wizard", core.PassDecisionToTool, 2)
		p := r.watching("p")
		r.play()
		for _, id := range []string{"c1", "c2", "c2", "c3"} {
			r.build(engine.Options{})
			r.must(r.decide(id, resume("d", `true`)))
			r.work()
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		for what, want := range map[string]int{"run_start": 1, "run_end": 1, "step_start": 4, "step_end": 4, "after_inference": 4} {
			if got := p.times(what); got != want {
				t.Errorf("%s %d times, want %d", what, got, want)
			}
		}
	})
	t.Run("what a hook is told of the step", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		p := r.watching("p")
		steps := map[core.Phase][]int{}
		for _, phase := range core.Phases {
			p.does(phase, func(v visit) { steps[phase] = append(steps[phase], v.Step) })
		}
		r.play()
		for phase, want := range map[core.Phase][]int{core.RunStart: {0}, core.StepStart: {1, 2}, core.BeforeInference: {1, 2}, core.AfterInference: {1, 2},
			core.BeforeToolExecute: {1}, core.AfterToolExecute: {1}, core.StepEnd: {1, 2}, core.RunEnd: {2}} {
			if !slices.Equal(steps[phase], want) {
				t.Errorf("%s in the steps %v, want %v", phase, steps[phase], want)
			}
		}
	})
}

// stopping gives the agent stop rules.
func (r *rig) stopping(t testing.TB, specs ...stoprule.Spec) {
	t.Helper()
	for _, s := range specs {
		rule, err := s.Rule()
		if err != nil {
			t.Fatal(err)
		}
		r.terms.Stops = append(r.terms.Stops, rule)
	}
}

const phasesDoc = "../../docs/how-it-works/state-machine.md"

// phaseRow is a line of the table in the document: number and phase, when, effects.
var phaseRow = regexp.MustCompile("(?m)^\\| \\d+ `(\\w+)` \\| [^|]+ \\| ([^|]+) \\|$")

// documented are the phases as the document has them: their order, and the effects that count in
// each.
func documented(t *testing.T) (order []string, effects map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(phasesDoc)
	if err != nil {
		t.Fatal(err)
	}
	effects = map[string][]string{}
	for _, m := range phaseRow.FindAllStringSubmatch(string(text), -1) {
		order = append(order, m[1])
		effects[m[1]] = regexp.MustCompile("[a-z]+").FindAllString(m[2], -1)
		if strings.Contains(string(text), "Hooks of all phases except `tool_gate` can change the shared state.") {
			effects[m[1]] = append(effects[m[1]], "state")
		}
	}
	return order, effects
}

func TestHooksFireInTheOrderOfTheDocument(t *testing.T) {
	want, _ := documented(t)
	r := newRig(t, calls(call("c1", "echo", `{}`)))
	p := r.watching("p")
	r.stopping(t, stoprule.Spec{Type: "max_rounds", Rounds: 2})
	r.play()
	var got []string
	for _, s := range p.seen {
		if phase, _, _ := strings.Cut(s, " "); !slices.Contains(got, phase) {
			got = append(got, phase)
		}
	}
	if len(want) != len(core.Phases) || !slices.Equal(got, want) {
		t.Errorf("hooks were called in the order %v, the document says %v", got, want)
	}
}

// showing are the signs that an effect counted, by its word in the document.
var showing = map[string]struct {
	effect core.Effects
	shows  func(r *rig, prompts []engine.Prompt) bool
}{
	"state": {adds("n", "1"), func(r *rig, _ []engine.Prompt) bool { return r.state().Get(core.RunScope, "n") != nil }},
	"context": {core.Effects{Context: []core.ContextMessage{{Key: "k", Text: "by the way"}}}, anyPrompt(func(p engine.Prompt) bool {
		return slices.ContainsFunc(p.Messages, func(m core.Message) bool { return m.Text() == "by the way" })
	})},
	"override": {core.Effects{Override: &core.Override{Instructions: "be brief"}}, anyPrompt(func(p engine.Prompt) bool { return p.Instructions == "be brief" })},
	"include":  {core.Effects{Include: []string{"calc", "echo"}}, anyPrompt(func(p engine.Prompt) bool { return len(p.Tools) == 2 })},
	"exclude":  {core.Effects{Exclude: []string{"other"}}, anyPrompt(func(p engine.Prompt) bool { return len(p.Tools) == 2 })},
	"end": {core.Effects{End: &core.Reason{Kind: core.BehaviorRequested}}, func(r *rig, _ []engine.Prompt) bool {
		return r.head().End != nil && r.head().End.Kind == core.BehaviorRequested
	}},
	"drop": {core.Effects{Drop: []string{"c1"}}, func(r *rig, _ []engine.Prompt) bool {
		return slices.ContainsFunc(r.conversation(), func(s string) bool { return s == "assistant" })
	}},
	"refuse": {core.Effects{Refuse: "not today"}, func(r *rig, _ []engine.Prompt) bool { return strings.Contains(r.resultOf("c1"), "not today") }},
	"append": {core.Effects{Append: "and more"}, func(r *rig, _ []engine.Prompt) bool { return strings.Contains(r.resultOf("c1"), "and more") }},
	"wait": {core.Effects{Wait: &core.SuspendTicket{}}, func(r *rig, _ []engine.Prompt) bool {
		return r.head().Status == core.RunWaiting
	}},
	"recall": {core.Effects{Recall: "we met before"}, anyPrompt(func(p engine.Prompt) bool {
		return slices.ContainsFunc(p.Messages, func(m core.Message) bool { return m.Text() == "we met before" })
	})},
}

func anyPrompt(is func(engine.Prompt) bool) func(*rig, []engine.Prompt) bool {
	return func(_ *rig, prompts []engine.Prompt) bool { return slices.ContainsFunc(prompts, is) }
}

func TestAnEffectCountsInThePhasesTheDocumentNames(t *testing.T) {
	order, effects := documented(t)
	for _, phase := range core.Phases {
		if phase == core.ToolGate || !slices.Contains(order, phase.String()) {
			continue // a gate has a verdict, no effects
		}
		var others core.Effects
		for word, sign := range showing {
			if !slices.Contains(effects[phase.String()], word) {
				others = together(others, sign.effect)
				continue
			}
			t.Run(phase.String()+": "+word+" counts", func(t *testing.T) {
				if r, prompts := wanting(t, phase, sign.effect); !sign.shows(r, prompts) {
					t.Error("it does not")
				}
			})
		}
		t.Run(phase.String()+": nothing else counts", func(t *testing.T) {
			r, prompts := wanting(t, phase, others)
			for word, sign := range showing {
				if !slices.Contains(effects[phase.String()], word) && sign.shows(r, prompts) {
					t.Errorf("%s does", word)
				}
			}
		})
	}
}

// wanting plays a run whose hook wants e in one phase.
func wanting(t *testing.T, phase core.Phase, e core.Effects) (r *rig, prompts []engine.Prompt) {
	t.Helper()
	r = newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
	r.onAsk = func(_ context.Context, p engine.Prompt) error {
		prompts = append(prompts, p)
		return nil
	}
	r.watching("p").wants(phase, e)
	r.play()
	r.invariants()
	return r, prompts
}

// together is one wish for what two ask for; each member is set in one of them alone.
func together(a, b core.Effects) core.Effects {
	recall := a.Recall + b.Recall
	all := effects.Join([]core.Effects{a, b})
	all.Recall = recall
	return all
}
