package program

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/recording"
	"github.com/dormouse-dev/dormouse/internal/scripted"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// build puts everything behind a definition. What it cannot do without and this program does not have is an
// [engine.ErrNotFound]: a run must not go on without the gates it started with. A function that is gone only fails its calls.
func (a *Agents) build(d agent.Definition, layers agent.Layers) (engine.Agent, error) {
	if err := a.missing(d); err != nil {
		return engine.Agent{}, err
	}
	layers.Policy = a.Policy
	rules, err := d.Rules(a.Tools.Specs(), layers)
	if err != nil {
		return engine.Agent{}, err
	}
	made := engine.Agent{Instructions: d.Instructions, Rules: rules, Offered: rules.Offered(), Hooks: a.hooks(d, rules)}
	if a.Idle {
		return made, nil
	}
	if made.Model, err = a.model(d); err != nil {
		return engine.Agent{}, err
	}
	if made.Tools, err = a.bodies(d); err != nil {
		return engine.Agent{}, err
	}
	if d.Memory != "" {
		made.Memory, _ = a.Hooks.Memory(d.Memory)
	}
	return made, nil
}

// missing says everything that the definition cannot do without and this program does not have.
func (a *Agents) missing(d agent.Definition) error {
	var wrong []error
	needs := d.Needs()
	for _, name := range needs.Hooks {
		if _, ok := a.Hooks.Hook(name); !ok {
			wrong = append(wrong, lack(d.Name, "hook", name, a.Hooks.Hooks()))
		}
	}
	for _, name := range needs.Memories {
		if _, ok := a.Hooks.Memory(name); !ok {
			wrong = append(wrong, lack(d.Name, "memory", name, a.Hooks.Memories()))
		}
	}
	for _, name := range needs.Effects {
		if _, ok := a.Hooks.Effect(name); !ok {
			wrong = append(wrong, lack(d.Name, "effect", name, a.Hooks.Effects()))
		}
	}
	return errors.Join(wrong...)
}

// lacking is what a definition needs and this program does not have. It is an [engine.ErrNotFound].
type lacking struct{ text string }

// lack says what there is instead.
func lack(agent, sort, name string, have []string) lacking {
	others := "remove the name"
	if len(have) > 0 {
		others = "name one it has (" + strings.Join(have, ", ") + ")"
	}
	return lacking{fmt.Sprintf("agent %s: this program has no %s %q; %s, or build one that registers it", agent, sort, name, others)}
}

func (l lacking) Error() string { return l.text }

func (lacking) Unwrap() error { return engine.ErrNotFound }

func (a *Agents) model(d agent.Definition) (engine.Model, error) {
	switch d.Model.Provider {
	case agent.ProviderScripted:
		return scripted.New(d.Name, d.Model.Turns)
	case agent.ProviderRecorded:
		return a.recorded(d)
	}
	provider, ok := a.Models[d.Model.Provider]
	if !ok {
		return nil, lack(d.Name, "provider of models", d.Model.Provider, slices.Sorted(maps.Keys(a.Models)))
	}
	return provider(d)
}

func (a *Agents) recorded(d agent.Definition) (engine.Model, error) {
	file := filepath.Join(a.Dir, d.Model.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("agent %s: its recording: %w", d.Name, err)
	}
	if core.Digest(text) != d.Model.SHA256 {
		return nil, fmt.Errorf("agent %s: the recording %s is not the one this version was made with", d.Name, d.Model.File)
	}
	conversations, err := recording.Read(bytes.NewReader(text), file)
	if err != nil {
		return nil, err
	}
	return recording.Model(conversations), nil
}

func (a *Agents) bodies(d agent.Definition) (map[string]engine.Tool, error) {
	bodies := map[string]engine.Tool{}
	for _, t := range d.Tools {
		made, err := a.remote(d, t)
		if err != nil {
			return nil, err
		}
		switch f, ok := a.Tools.Lookup(t.Go); {
		case made != nil:
			bodies[t.Name] = made
		case t.Go != "" && ok:
			bodies[t.Name] = f
		case t.HTTP != nil:
			bodies[t.Name] = a.HTTP.Tool(t)
		case t.Recorded != nil:
			bodies[t.Name] = tool.Recorded(t.Recorded)
		}
	}
	return bodies, nil
}

// remote is the body of a tool that another process runs; nil for others.
func (a *Agents) remote(d agent.Definition, t agent.Tool) (engine.Tool, error) {
	kind := ""
	switch {
	case t.Lambda != nil:
		kind = BodyLambda
	case t.MCP != nil:
		kind = BodyMCP
	default:
		return nil, nil
	}
	make, ok := a.Bodies[kind]
	if !ok {
		return nil, lack(d.Name, "kind of tools", kind, slices.Sorted(maps.Keys(a.Bodies)))
	}
	return make(d, t)
}

// hooks are those the definition names, then its effects.
func (a *Agents) hooks(d agent.Definition, rules *agent.Rules) []engine.Hook {
	var hooks []engine.Hook
	for _, name := range d.Hooks {
		h, _ := a.Hooks.Hook(name)
		hooks = append(hooks, h)
	}
	for _, e := range d.Effects {
		hooks = append(hooks, a.effect(e, rules))
	}
	return hooks
}

// effect follows the tools the definition names, but for those that change nothing: a pattern may well match them.
func (a *Agents) effect(e agent.Effect, rules *agent.Rules) engine.Hook {
	spec := hook.Spec{Name: e.Name, Clock: a.Clock, Command: e.Command, Workspace: e.Workspace}
	spec.Func, _ = a.Hooks.Effect(e.Go)
	spec.Follows = func(name string) bool {
		t, _ := rules.Tool(name)
		return e.Follows(name) && !t.ReadOnly && !t.Finish
	}
	if e.Workspace != "" && !filepath.IsAbs(e.Workspace) {
		spec.Workspace = filepath.Join(a.Dir, e.Workspace)
	}
	if e.Paths != "" {
		spec.Files = e.Files
	}
	return hook.Effect(spec)
}
