package hook_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) RunBegin(context.Context) {} // no phase's method

func deny(core.ToolCall, core.State) *core.Verdict { return &core.Verdict{Effect: core.Deny} }

func TestRegistryRefusesWhatCannotBeMeant(t *testing.T) {
	r := hook.NewRegistry()
	if err := r.Register(hook.Gate("careful", deny)); err != nil {
		t.Fatal(err)
	}
	memory := hook.FileMemory(t.TempDir())
	if err := r.RegisterMemory("notes", memory); err != nil {
		t.Fatal(err)
	}
	effect := func(context.Context, hook.EffectRequest) (string, error) { return "", nil }
	if err := r.RegisterEffect("format", effect); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a hook twice":             r.Register(hook.Gate("careful", deny)),
		"a hook without a name":    r.Register(hook.Gate("", deny)),
		"a hook without a phase":   r.Register(idle{}),
		"a memory twice":           r.RegisterMemory("notes", memory),
		"a memory without a name":  r.RegisterMemory("", memory),
		"an effect twice":          r.RegisterEffect("format", effect),
		"an effect without a name": r.RegisterEffect("", effect),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	_, hookThere := r.Hook("careful")
	_, memoryThere := r.Memory("notes")
	_, effectThere := r.Effect("format")
	if !hookThere || !memoryThere || !effectThere {
		t.Errorf("found: hook %v, memory %v, effect %v", hookThere, memoryThere, effectThere)
	}
	if _, ok := r.Hook("idle"); ok {
		t.Error("found what was refused")
	}
}

func TestGateAndStopAreHooksOfTheirPhase(t *testing.T) {
	gate := hook.Gate("careful", func(call core.ToolCall, state core.State) *core.Verdict {
		if call.Name == "pay" && string(state.Get(core.RunScope, "paid")) == "1" {
			return &core.Verdict{Effect: core.Deny, Reason: "once is enough"}
		}
		return nil
	})
	judge, ok := gate.(engine.ToolGateHook)
	if !ok || gate.Name() != "careful" {
		t.Fatalf("%T is no gate named careful", gate)
	}
	paid := core.State{}.Apply([]core.StateOp{{Key: "paid", Op: core.StateAdd, Value: []byte("1")}})
	if v := judge.ToolGate(core.ToolCall{Name: "pay"}, paid); v == nil || v.Reason != "once is enough" {
		t.Errorf("verdict %v", v)
	}
	if v := judge.ToolGate(core.ToolCall{Name: "pay"}, core.State{}); v != nil {
		t.Errorf("verdict %v", v)
	}

	stop := hook.Stop("tired", func(p core.Progress) (code, detail string, stop bool) { return "tired", "", p.Steps > 2 })
	rule, ok := stop.(core.StopRule)
	if !ok || stop.Name() != "tired" {
		t.Fatalf("%T is no stop rule named tired", stop)
	}
	if code, _, stops := rule.Stop(core.Progress{Steps: 3}); !stops || code != "tired" {
		t.Errorf("%q, %v", code, stops)
	}
}
