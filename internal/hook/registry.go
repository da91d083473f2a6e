package hook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Registry holds what definitions may name besides tools: hooks, memories, and the Go functions of
// effects. Register everything first; after that it is safe for concurrent use.
type Registry struct {
	hooks    map[string]engine.Hook
	memories map[string]engine.Memory
	effects  map[string]EffectFunc
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{hooks: map[string]engine.Hook{}, memories: map[string]engine.Memory{}, effects: map[string]EffectFunc{}}
}

// Register adds hooks under their names. A hook without a name, with a name that is taken, or
// without any phase is rejected, and those before it stay. A hook that would never be called
// usually has a misspelled method.
func (r *Registry) Register(hooks ...engine.Hook) error {
	for _, h := range hooks {
		if !takesPart(h) {
			return fmt.Errorf("hook: %q implements no phase; add a method of one of the hook interfaces", h.Name())
		}
		if err := add(r.hooks, "hook", h.Name(), h); err != nil {
			return err
		}
	}
	return nil
}

// RegisterMemory adds a memory. An empty name or one that is taken is rejected.
func (r *Registry) RegisterMemory(name string, m engine.Memory) error {
	return add(r.memories, "memory", name, m)
}

// RegisterEffect adds the function of an effect. An empty name or one that is taken is rejected.
func (r *Registry) RegisterEffect(name string, f EffectFunc) error {
	return add(r.effects, "effect", name, f)
}

func add[T any](to map[string]T, sort, name string, v T) error {
	if name == "" {
		return fmt.Errorf("hook: a %s needs a name", sort)
	}
	if _, taken := to[name]; taken {
		return fmt.Errorf("hook: the %s %q is registered twice", sort, name)
	}
	to[name] = v
	return nil
}

// Hook returns the hook of that name.
func (r *Registry) Hook(name string) (engine.Hook, bool) {
	h, ok := r.hooks[name]
	return h, ok
}

// Memory returns the memory of that name.
func (r *Registry) Memory(name string) (engine.Memory, bool) {
	m, ok := r.memories[name]
	return m, ok
}

// Effect returns the function of the effect of that name.
func (r *Registry) Effect(name string) (EffectFunc, bool) {
	f, ok := r.effects[name]
	return f, ok
}

// Hooks returns the names of all hooks, sorted.
func (r *Registry) Hooks() []string { return slices.Sorted(maps.Keys(r.hooks)) }

// Memories returns the names of all memories, sorted.
func (r *Registry) Memories() []string { return slices.Sorted(maps.Keys(r.memories)) }

// Effects returns the names of the functions of all effects, sorted.
func (r *Registry) Effects() []string { return slices.Sorted(maps.Keys(r.effects)) }

func takesPart(h engine.Hook) bool {
	switch h.(type) {
	case engine.RunStartHook, engine.StepStartHook, engine.BeforeInferenceHook, engine.AfterInferenceHook, engine.ToolGateHook,
		engine.BeforeToolHook, engine.AfterToolHook, engine.StepEndHook, engine.RunEndHook, core.StopRule:
		return true
	}
	return false
}
