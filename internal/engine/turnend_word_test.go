package engine_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// TestNothingRunsOfAnAnswerThatWasCutOffWhateverElseThereIs: the provider's word that an answer is
// not whole stands against everybody who would have its calls run, or the run end well.
func TestNothingRunsOfAnAnswerThatWasCutOffWhateverElseThereIs(t *testing.T) {
	cut := &core.Reason{Kind: core.Stopped, Code: "max_tokens", Detail: "the answer was cut off"}
	rounds, err := stoprule.Spec{Type: "max_rounds", Rounds: 1}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	both := []core.ToolCall{call("c1", "echo", `{}`), call("c2", "calc", `{}`)}
	for name, tt := range map[string]struct {
		calls   []core.ToolCall
		prepare func(*rig)
	}{
		"one after the other": {both, func(*rig) {}},
		"side by side":        {both, func(r *rig) { r.terms.Parallel = true }},
		"a call of finish":    {[]core.ToolCall{finish("f", "done")}, (*rig).finishing},
		"finish among others": {append(both[:1:1], finish("f", "done")), (*rig).finishing},
		"a stop rule":         {both, func(r *rig) { r.terms.Stops = []core.StopRule{rounds} }},
		"a call of a client":  {[]core.ToolCall{call("c1", "browse", `{}`)}, func(r *rig) { r.tool("browse", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}}) }},
		"a call to ask about": {[]core.ToolCall{call("c1", "pay", `{}`)}, func(r *rig) { r.ask("pay") }},
		"a gate with a result": {both, func(r *rig) {
			r.watching("p").gate = func(core.ToolCall, core.State) *core.Verdict {
				return &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "given"}}
			}
		}},
		"hooks that want an end of their own": {both, func(r *rig) {
			natural := core.Effects{End: &core.Reason{Kind: core.NaturalEnd}}
			p := r.watching("p")
			p.wants(core.StepEnd, natural)
			p.wants(core.RunEnd, natural)
		}},
		"a hook that drops a call": {both, func(r *rig) { r.watching("p").wants(core.AfterInference, core.Effects{Drop: []string{"c2"}}) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, core.Turn{Text: "I pay", Calls: tt.calls, End: cut}, says("never asked"))
			tt.prepare(r)
			r.play()
			r.wantEnd(core.Stopped, "max_tokens")
			r.wantRan()
			r.wantAsked(1)
			for _, m := range core.TranscriptOf(r.log()) {
				if m.Role == core.RoleTool && !strings.HasPrefix(m.Text(), "Not run: ") {
					t.Errorf("the call %s came to %q", m.CallID, m.Text())
				}
			}
			if r.head().Finish != "" {
				t.Error("the run counts as finished")
			}
		})
	}
}

// TestACallThatWaitsDoesNotRunBehindAnAnswerThatWasCutOff: the model goes on beside it, is cut off,
// and the yes comes in that moment.
func TestACallThatWaitsDoesNotRunBehindAnAnswerThatWasCutOff(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "echo", `{}`)),
		core.Turn{Text: "so f", Calls: []core.ToolCall{call("c3", "calc", `{}`)}, End: &core.Reason{Kind: core.Stopped, Code: "max_tokens"}})
	r.ask("pay")
	r.terms.Continue = true
	p := r.watching("p")
	p.does(core.AfterInference, func(v visit) {
		if v.turn.End != nil {
			r.must(r.decide("c1", resume("d", `true`)))
		}
	})
	r.play()
	r.wantEnd(core.Stopped, "max_tokens")
	r.wantRan("echo{}")
	r.wantAsked(2)
	if r.count(core.EventDecisionRecorded) != 1 {
		t.Error("the decision is in no journal")
	}
}

// TestATokenBudgetCountsOnlyWhatIsSaidToBeUsed: of an answer without usage nobody knows. Readers
// are told so, and a bound on rounds has to end such a run.
func TestATokenBudgetCountsOnlyWhatIsSaidToBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		second core.Turn
		code   string
		asked  int
	}{
		"nothing is said": {core.Turn{Calls: []core.ToolCall{call("c2", "echo", `{}`)}, NoUsage: true, InputTokens: 0}, "max_rounds", 3},
		"something is":    {core.Turn{Calls: []core.ToolCall{call("c2", "echo", `{}`)}, InputTokens: 8, OutputTokens: 3}, "token_budget", 2},
	} {
		t.Run(name, func(t *testing.T) {
			silent := core.Turn{Calls: []core.ToolCall{call("c1", "echo", `{}`)}, NoUsage: true}
			r := newRig(t, silent, tt.second, core.Turn{Calls: []core.ToolCall{call("c3", "echo", `{}`)}, NoUsage: true}, says("never asked"))
			for _, spec := range []stoprule.Spec{{Type: "token_budget", MaxTotal: 10}, {Type: "max_rounds", Rounds: 3}} {
				rule, err := spec.Rule()
				r.must(err)
				r.terms.Stops = append(r.terms.Stops, rule)
			}
			r.play()
			r.wantEnd(core.Stopped, tt.code)
			r.wantAsked(tt.asked)
		})
	}
}
