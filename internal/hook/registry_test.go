package hook_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) RunBegin(context.Context) {} // no phase's method

// denies is a gate that denies every call.
type denies string

func (g denies) Name() string { return string(g) }

func (denies) ToolGate(core.ToolCall, core.State) *core.Verdict {
	return &core.Verdict{Effect: core.Deny}
}

func TestRegistryRefusesWhatCannotBeMeant(t *testing.T) {
	r := hook.NewRegistry()
	if err := r.Register(denies("careful")); err != nil {
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
		"a hook twice":             r.Register(denies("careful")),
		"a hook without a name":    r.Register(denies("")),
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
