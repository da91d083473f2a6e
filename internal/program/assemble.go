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
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// build connects a definition with its implementation. If something essential is missing, it
// returns an [engine.ErrNotFound]: a run must not continue without the gates that it started with.
// A missing function only fails its calls.
func (a *Agents) build(d agent.Definition, given supplied.Input, layers agent.Layers) (engine.Agent, error) {
	if err := a.missing(d); err != nil {
		return engine.Agent{}, err
	}
	layers.Policy = a.Policy
	full, accepted := a.Prices.Priced(d).With(given)
	rules, err := full.Rules(a.Tools.Specs(), layers)
	if err != nil {
		return engine.Agent{}, err
	}
	made := engine.Agent{Instructions: d.Instructions, Rules: rules, Offered: rules.Offered(), Hooks: a.hooks(d, rules), Supplied: accepted}
	if a.Idle {
		return made, nil
	}
	behind, err := a.behind(d)
	if err != nil {
		return engine.Agent{}, err
	}
	made.Model, made.Tools, made.Peers = behind.model, held(behind.tools, rules), behind.peers
	if d.Memory != "" {
		made.Memory, _ = a.Hooks.Memory(d.Memory)
	}
	return made, nil
}

// behind is the implementation of a version: its model, its tools, and what reaches the agents
// elsewhere that it calls.
type behind struct {
	model engine.Model
	tools map[string]engine.Tool
	peers map[string]engine.Peer
}

// behind builds the implementation once per version, independently of a run's permissions: a model
// may remember what its endpoint supports, and a tool may hold a session. If two are built at once,
// one is kept.
func (a *Agents) behind(d agent.Definition) (made behind, err error) {
	digest := d.Digest()
	a.mu.Lock()
	made, ok := a.ready[digest]
	a.mu.Unlock()
	if ok {
		return made, nil
	}
	if made.model, err = a.model(d); err != nil {
		return behind{}, err
	}
	if made.tools, err = a.bodies(d); err != nil {
		return behind{}, err
	}
	if made.peers, err = a.peers(d); err != nil {
		return behind{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if first, ok := a.ready[digest]; ok {
		return first, nil
	}
	if len(a.ready) >= mostKnown {
		clear(a.ready)
	}
	a.ready[digest] = made
	return made, nil
}

// held returns tools whose redirects obey the rules of a run. The implementation belongs to a
// version, and rules to a run.
func held(tools map[string]engine.Tool, rules *agent.Rules) map[string]engine.Tool {
	if !rules.Targeted() {
		return tools
	}
	out := map[string]engine.Tool{}
	for name, t := range tools {
		out[name] = httptool.Held(t, rules.Redirect)
	}
	return out
}

// missing returns everything that the definition requires and this program does not have.
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
	if !a.Commands {
		for _, lacks := range Commands(d) {
			wrong = append(wrong, &engine.LacksError{Text: lacks})
		}
	}
	return errors.Join(append(wrong, a.unconnected(d, needs)...)...)
}

// Commands returns a sentence for the operator for each effect of a definition that runs commands.
func Commands(d agent.Definition) (runs []string) {
	for _, e := range d.Commands() {
		what := "commands that it finds in its workspace"
		if len(e.Command) > 0 {
			what = "the command " + e.Command[0]
		}
		runs = append(runs, fmt.Sprintf("agent %s: the effect %q runs %s on the server's machine, but the operator does not allow commands; "+
			"allow them with --allow-commands, or remove the effect", d.Name, e.Name, what))
	}
	return runs
}

// Codes returns a sentence for the operator for each notify target of a definition whose links ask
// for a one-time code.
func Codes(d agent.Definition) (sends []string) {
	for _, t := range d.Notify {
		if t.Require == notice.RequireCode {
			sends = append(sends, fmt.Sprintf("agent %s: the links of the notify target %s require a one-time code, but the server sends no mail; "+
				"set --smtp and --mail-from, or remove require: code", d.Name, t.Name))
		}
	}
	return sends
}

// unconnected returns the providers and kinds of tools that are missing. A process that runs
// nothing needs none.
func (a *Agents) unconnected(d agent.Definition, needs agent.Needs) (wrong []error) {
	if a.Idle {
		return nil
	}
	for _, name := range needs.Providers {
		if have := a.Providers(); !slices.Contains(have, name) {
			wrong = append(wrong, lack(d.Name, "provider of models", name, have))
		}
	}
	for _, kind := range needs.Kinds {
		if have := a.Kinds(); !slices.Contains(have, kind) {
			wrong = append(wrong, lack(d.Name, "kind of tools", kind, have))
		}
	}
	return wrong
}

// Providers returns the providers of models that this program has.
func (p Program) Providers() []string {
	names := slices.AppendSeq([]string{agent.ProviderScripted, agent.ProviderRecorded}, maps.Keys(p.Models))
	slices.Sort(names)
	return names
}

// Kinds returns the kinds of tools that this program can run, with their names in agent files.
func (p Program) Kinds() []string {
	kinds := slices.AppendSeq([]string{"agent", "client", "go", "http", "recorded"}, maps.Keys(p.Bodies))
	if p.Peers != nil {
		kinds = append(kinds, "a2a")
	}
	slices.Sort(kinds)
	return kinds
}

// lack describes what is missing and what could be used instead.
func lack(agent, sort, name string, have []string) error {
	others := "remove the name"
	if len(have) > 0 {
		others = "name one it has (" + strings.Join(have, ", ") + ")"
	}
	return &engine.LacksError{Text: fmt.Sprintf("agent %s: this program has no %s %q; %s, or build one that registers it", agent, sort, name, others), Name: name}
}

func (a *Agents) model(d agent.Definition) (engine.Model, error) {
	switch d.Model.Provider {
	case agent.ProviderScripted:
		m, err := scripted.New(d.Name, d.Model.Turns)
		if err != nil {
			return nil, err
		}
		return m.Paced(a.Clock, time.Duration(d.Model.Pace)*time.Millisecond), nil
	case agent.ProviderRecorded:
		return a.recorded(d)
	}
	made, err := a.Models[d.Model.Provider](d) // missing has checked that it exists
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.Name, err)
	}
	return made, nil
}

func (a *Agents) recorded(d agent.Definition) (engine.Model, error) {
	file := filepath.Join(a.Dir, d.Model.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("agent %s: its recording: %w", d.Name, err)
	}
	if core.Digest(text) != d.Model.SHA256 {
		return nil, fmt.Errorf("agent %s: the recording %s differs from the one that this version was created with", d.Name, d.Model.File)
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
		switch f, ok := a.Tools.Lookup(t.Go); {
		case t.Remote() != "":
			// missing has checked that the kind exists
			made, err := a.Bodies[t.Remote()](d, t)
			if err != nil {
				return nil, fmt.Errorf("agent %s: %w", d.Name, err)
			}
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

// peers returns nothing for a definition without such tools.
func (a *Agents) peers(d agent.Definition) (map[string]engine.Peer, error) {
	var peers map[string]engine.Peer
	for _, t := range d.Tools {
		if t.Agent == nil || t.Agent.A2A == nil {
			continue
		}
		// missing has checked that there is one
		made, err := a.Peers(d, t)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", d.Name, err)
		}
		if peers == nil {
			peers = map[string]engine.Peer{}
		}
		peers[t.Name] = made
	}
	return peers, nil
}

// hooks returns the hooks that the definition names, followed by its effects.
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

// Workspace returns the directory in which an effect's commands run; dir is that of the agents.
func Workspace(dir string, e agent.Effect) string {
	if e.Workspace == "" || filepath.IsAbs(e.Workspace) {
		return e.Workspace
	}
	return filepath.Join(dir, e.Workspace)
}

// effect returns the hook of an effect. It follows the tools that the definition names, except for
// read-only ones, which a pattern may match as well, and for tools that a start supplied: no client
// makes a command run by the name that it gives to a tool.
func (a *Agents) effect(e agent.Effect, rules *agent.Rules) engine.Hook {
	spec := hook.Spec{Name: e.Name, Clock: a.Clock, Command: e.Command, Detect: e.Detect, Workspace: e.Workspace, Hidden: a.Hidden, Refuses: rules.RefusedCommand}
	spec.Func, _ = a.Hooks.Effect(e.Go)
	spec.Follows = func(name string) bool {
		t, _ := rules.Tool(name)
		return e.Follows(name) && !t.ReadOnly && !t.Finish && !t.Supplied
	}
	spec.Workspace = Workspace(a.Dir, e)
	if e.Paths != "" {
		spec.Files = e.Files
	}
	return hook.Effect(spec)
}
