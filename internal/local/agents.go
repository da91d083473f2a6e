package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/recording"
	"github.com/dormouse-dev/dormouse/internal/scripted"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Definitions is where stored versions of agents are.
type Definitions interface {
	frontend.Catalog
	Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error)
	PutDefinition(ctx context.Context, d engine.Definition) error
	Deploy(ctx context.Context, tenant, name, digest string) error
	Undeploy(ctx context.Context, tenant, name string) error
}

// Agents puts models and tool bodies behind stored definitions. Safe for concurrent use.
type Agents struct {
	stored Definitions
	tools  *tool.Registry
	dir    string // where a recorded model's file is

	mu    sync.Mutex
	known map[versions]engine.Agent
}

// versions are what an agent is made of: the version a run is pinned to, and the one deployed now, whose denies count.
type versions struct{ tenant, name, pinned, deployed string }

// NewAgents resolves definitions with the functions of a registry.
func NewAgents(stored Definitions, tools *tool.Registry, dir string) *Agents {
	return &Agents{stored: stored, tools: tools, dir: dir, known: map[versions]engine.Agent{}}
}

// Deploy makes the agents of the directory, and no others, what new runs start with. Nothing is deployed if one of them cannot be.
// Versions that sleeping runs are pinned to stay.
func (a *Agents) Deploy(ctx context.Context, tenant string) ([]agent.Definition, error) {
	loaded, err := agent.Load(a.dir)
	if err != nil {
		return nil, err
	}
	if err := a.check(loaded); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range loaded {
		names[d.Name] = true
		stored := engine.Definition{Tenant: tenant, Name: d.Name, Digest: d.Digest(), Body: d.Encode()}
		if err := a.stored.PutDefinition(ctx, stored); err != nil {
			return nil, err
		}
		if err := a.stored.Deploy(ctx, tenant, d.Name, stored.Digest); err != nil {
			return nil, err
		}
	}
	return loaded, a.undeploy(ctx, tenant, names)
}

// check says everything that keeps definitions from being run by this program.
func (a *Agents) check(loaded []agent.Definition) error {
	var wrong []error
	for _, d := range loaded {
		for _, name := range d.Missing(a.tools.Specs()) {
			wrong = append(wrong, fmt.Errorf("agent %s: this program has no function %q; name one it has, or build one that registers it", d.Name, name))
		}
		if _, err := a.build(d, nil); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// undeploy takes away what was deployed before and is not any more.
func (a *Agents) undeploy(ctx context.Context, tenant string, keep map[string]bool) error {
	before, err := a.stored.Deployed(ctx, tenant)
	if err != nil {
		return err
	}
	for _, d := range before {
		if !keep[d.Name] {
			err = errors.Join(err, a.stored.Undeploy(ctx, tenant, d.Name))
		}
	}
	return err
}

// Load implements [engine.Agents].
func (a *Agents) Load(ctx context.Context, pin engine.Pin) (engine.Agent, error) {
	tenant, name, version := pin.Tenant, pin.Name, pin.Version
	current, err := a.stored.Current(ctx, tenant, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) { // not deployed any more: its sleeping runs go on as they are
		return engine.Agent{}, err
	}
	key := versions{tenant, name, version, current.Digest}
	a.mu.Lock()
	found, ok := a.known[key]
	a.mu.Unlock()
	if ok {
		return found, nil
	}
	pinned, err := a.stored.Definition(ctx, tenant, name, version)
	if err != nil {
		return engine.Agent{}, err
	}
	made, err := a.assemble(pinned, current)
	if err != nil {
		return engine.Agent{}, err
	}
	a.mu.Lock()
	a.known[key] = made
	a.mu.Unlock()
	return made, nil
}

func (a *Agents) assemble(pinned, current engine.Definition) (engine.Agent, error) {
	d, err := agent.Decode(pinned.Body)
	if err != nil {
		return engine.Agent{}, err
	}
	if current.Digest == "" {
		return a.build(d, nil)
	}
	deployed, err := agent.Decode(current.Body)
	if err != nil {
		return engine.Agent{}, err
	}
	return a.build(d, &deployed)
}

func (a *Agents) build(d agent.Definition, deployed *agent.Definition) (engine.Agent, error) {
	rules, err := d.Rules(a.tools.Specs(), deployed)
	if err != nil {
		return engine.Agent{}, err
	}
	model, err := a.model(d)
	if err != nil {
		return engine.Agent{}, err
	}
	return engine.Agent{Instructions: d.Instructions, Rules: rules, Offered: rules.Offered(), Model: model, Tools: a.bodies(d)}, nil
}

func (a *Agents) model(d agent.Definition) (engine.Model, error) {
	if d.Model.Provider == agent.ProviderScripted {
		return scripted.New(d.Name, d.Model.Turns)
	}
	file := filepath.Join(a.dir, d.Model.File)
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

func (a *Agents) bodies(d agent.Definition) map[string]engine.Tool {
	bodies := map[string]engine.Tool{}
	for _, t := range d.Tools {
		switch f, ok := a.tools.Lookup(t.Go); {
		case t.Go != "" && ok:
			bodies[t.Name] = f
		case t.Recorded != nil:
			bodies[t.Name] = tool.Recorded(t.Recorded)
		}
	}
	return bodies
}

// Describe shows a stored definition to callers.
func (a *Agents) Describe(stored engine.Definition) (wire.Agent, error) {
	d, err := agent.Decode(stored.Body)
	if err != nil {
		return wire.Agent{}, err
	}
	rules, err := d.Rules(a.tools.Specs(), nil)
	if err != nil {
		return wire.Agent{}, err
	}
	shown := wire.Agent{Name: d.Name, Version: stored.Digest, Description: d.Description, Model: d.Model.Provider,
		Instructions: d.Instructions, Tools: []wire.Tool{}}
	for _, t := range d.Tools {
		spec, _ := rules.Tool(t.Name)
		shown.Tools = append(shown.Tools, wire.Tool{Name: t.Name, Description: spec.Description, Parameters: spec.Parameters,
			Delivery: spec.Delivery.String(), Client: spec.Client, Permission: d.Permission(t.Name)})
	}
	return shown, nil
}
