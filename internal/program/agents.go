// Package program puts what a program has behind the definitions of agents: models, tool bodies,
// hooks, memories and the policy. It chooses adapters, and holds no rule of its own; where
// definitions are stored is its caller's choice.
package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// Definitions is where stored versions of agents are.
type Definitions interface {
	frontend.Catalog
	// Newest is the digest of the deployed version. [engine.ErrNotFound] if there is none.
	Newest(ctx context.Context, tenant, name string) (digest string, err error)
	Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error)
	PutDefinition(ctx context.Context, d engine.Definition) error
	Deploy(ctx context.Context, tenant, name, digest string) error
	Undeploy(ctx context.Context, tenant, name string) error
}

// Program is what this program puts behind definitions.
type Program struct {
	Tools  *tool.Registry
	Hooks  *hook.Registry
	HTTP   *httptool.Caller   // nil: one that reaches public addresses only
	Policy *agent.Permissions // over all agents; nil for none
	// of the agent files; recordings and workspaces are relative to it
	Dir string
	// the tenant that deploys: agents that name no tenants are its own; "": whichever one they
	// are deployed to
	Home  string
	Clock engine.Clock

	// Models are the providers of models beside scripted and recorded ones; nil for none.
	Models map[string]Provider

	// Bodies make the bodies of tools that are neither Go functions, HTTP requests nor
	// recorded, by the kind of the tool; nil for none.
	Bodies map[string]Bodies

	// Commands: effects may run commands on this machine, which the operator allows.
	Commands bool

	// Hidden are the secrets of this process, which are taken out of what effects say; nil for
	// none.
	Hidden func() secret.Values

	// Idle: this process runs nothing. Definitions are described and checked, and neither
	// models nor bodies are put behind them.
	Idle bool
}

// Provider makes the model of a definition. It asks no server anything: a definition is deployed
// wherever its provider is.
type Provider func(agent.Definition) (engine.Model, error)

// Bodies makes the body of one tool of a definition, under the same condition.
type Bodies func(agent.Definition, agent.Tool) (engine.Tool, error)

// The kinds of tools whose bodies are made by [Bodies].
const (
	BodyLambda = "lambda"
	BodyMCP    = "mcp"
)

// Agents puts models, tool bodies, hooks and memories behind stored definitions. Safe for
// concurrent use.
type Agents struct {
	Program
	stored Definitions

	deploying sync.Mutex // held while agents are deployed to tenants; taken before mu

	mu       sync.Mutex
	known    map[versions]engine.Agent
	ready    map[string]behind // by the digest of the version
	viewed   map[viewed]view
	deployed []agent.Definition // last
	tenants  map[string]bool    // it was deployed to

	unreadable []string          // files that were no agents when it was deployed
	sources    map[string]source // of the agents that were deployed last
	reported   map[string]string // state of an agent's files whose mistakes were reported last
	// agents that a failed Reload may have deployed to some tenants
	unfinished  map[string]bool
	unavailable map[string]Unavailable
	found       map[string]Unavailable // what a Serve that is under way has found so far
	unstored    bool                   // a full disk kept the last Serve from storing something
}

// versions are what an agent is made of: the version a run is pinned to, the one deployed now,
// whose denies count, and the run's own permissions. The policy is the same for all.
type versions struct{ tenant, name, pinned, deployed, narrow string }

// mostKnown bounds the agents that are kept ready. Runs may have permissions of their own, so there
// is no end to them.
const mostKnown = 1000

// NewAgents resolves definitions with what p has.
func NewAgents(stored Definitions, p Program) *Agents {
	if p.HTTP == nil {
		p.HTTP = httptool.New(httptool.Options{Clock: p.Clock, Random: machine.Random{}})
	}
	return &Agents{Program: p, stored: stored, known: map[versions]engine.Agent{}, ready: map[string]behind{}, tenants: map[string]bool{},
		viewed: map[viewed]view{}, unavailable: map[string]Unavailable{}, unfinished: map[string]bool{}}
}

// Deploy makes the agents of the directory, and no others, what new runs of the tenants start with.
// Nothing is deployed if one of them cannot be. Versions that sleeping runs are pinned to stay.
func (a *Agents) Deploy(ctx context.Context, tenants ...string) ([]agent.Definition, error) {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	files, err := agentfile.ReadFiles(a.Dir)
	if err != nil {
		return nil, err
	}
	loaded, unreadable := agentfile.Sort(files)
	if err := a.servable(loaded, unreadable); err != nil {
		return nil, &NotServableError{err}
	}
	a.mu.Lock()
	a.deployed, a.unreadable = loaded, nil
	clear(a.unavailable)
	a.mu.Unlock()
	a.remember(files, nil)
	for _, tenant := range tenants {
		if err := a.join(ctx, tenant, loaded); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// NotServableError is why [Agents.Deploy] deployed nothing: at least one agent cannot be served.
type NotServableError struct{ Err error }

func (e *NotServableError) Error() string { return e.Err.Error() }

func (e *NotServableError) Unwrap() error { return e.Err }

// servable says everything that is wrong with agents and with files that are none.
func (a *Agents) servable(loaded []agent.Definition, unreadable []agentfile.Unreadable) error {
	var wrong []error
	for _, u := range unreadable {
		wrong = append(wrong, u.Err)
	}
	if wrong == nil {
		return a.check(loaded)
	}
	return errors.Join(wrong...)
}

// Join gives what was deployed last to a tenant that it was not deployed to, and does nothing for
// others. The directory is not read again: what is in it now may not be meant yet.
func (a *Agents) Join(ctx context.Context, tenant string) error {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	return a.joinOnce(ctx, tenant)
}

func (a *Agents) joinOnce(ctx context.Context, tenant string) error {
	a.mu.Lock()
	joined, loaded := a.tenants[tenant], a.deployed
	a.mu.Unlock()
	if joined {
		return nil
	}
	return a.join(ctx, tenant, loaded)
}

func (a *Agents) join(ctx context.Context, tenant string, loaded []agent.Definition) error {
	if err := a.deploy(ctx, tenant, loaded); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tenants[tenant] = true
	return nil
}

// deploy writes only what is not deployed yet: a server whose disk is full can start with the
// agents that it had.
func (a *Agents) deploy(ctx context.Context, tenant string, loaded []agent.Definition) error {
	before, err := a.stored.Deployed(ctx, tenant)
	if err != nil {
		return err
	}
	there, names := digests(before), map[string]bool{}
	for _, d := range loaded {
		if !d.MayBeUsedBy(tenant, cmp.Or(a.Home, tenant)) {
			continue
		}
		names[d.Name] = true
		if err := a.put(ctx, tenant, d, there); err != nil {
			return err
		}
	}
	return a.undeploy(ctx, tenant, before, names)
}

// check says everything that keeps definitions from being run by this program.
func (a *Agents) check(loaded []agent.Definition) error {
	var wrong []error
	for _, d := range loaded {
		functions := a.Tools.Specs()
		for _, name := range d.Missing(functions) {
			wrong = append(wrong, lack(d.Name, "function", name, slices.Sorted(maps.Keys(functions))))
		}
		// at a deploy only: a sleeping run goes on, and its call says it
		for _, lacks := range a.HTTP.Lacks(d) {
			wrong = append(wrong, &engine.LacksError{Text: lacks})
		}
		if _, err := a.build(d, agent.Layers{}); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// undeploy takes away what was deployed before and is not any more.
func (a *Agents) undeploy(ctx context.Context, tenant string, before []engine.Definition, keep map[string]bool) (err error) {
	for _, d := range before {
		if !keep[d.Name] && !a.orphaned(d.Name) {
			err = errors.Join(err, a.stored.Undeploy(ctx, tenant, d.Name))
		}
	}
	return err
}

// Load implements [engine.Agents].
func (a *Agents) Load(ctx context.Context, pin engine.Pin) (engine.Agent, error) {
	if err := a.available(pin.Name); err != nil {
		return engine.Agent{}, err
	}
	newest, err := a.stored.Newest(ctx, pin.Tenant, pin.Name)
	// not deployed any more: its sleeping runs go on as they are
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Agent{}, err
	}
	key := versions{pin.Tenant, pin.Name, pin.Version, newest, string(pin.Narrow)}
	a.mu.Lock()
	found, ok := a.known[key]
	a.mu.Unlock()
	if ok {
		return found, nil
	}
	pinned, err := a.stored.Definition(ctx, pin.Tenant, pin.Name, pin.Version)
	if err != nil {
		return engine.Agent{}, err
	}
	current := pinned
	if newest != pin.Version {
		if current, err = a.definition(ctx, pin.Tenant, pin.Name, newest); err != nil {
			return engine.Agent{}, err
		}
	}
	made, err := a.assemble(pinned, current, pin.Narrow)
	if err != nil {
		return engine.Agent{}, err
	}
	a.keep(key, made)
	return made, nil
}

// definition is a stored version; a zero one of none.
func (a *Agents) definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error) {
	if digest == "" {
		return engine.Definition{}, nil
	}
	return a.stored.Definition(ctx, tenant, name, digest)
}

func (a *Agents) keep(key versions, made engine.Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= mostKnown {
		clear(a.known)
	}
	a.known[key] = made
}

func (a *Agents) assemble(pinned, current engine.Definition, narrow json.RawMessage) (engine.Agent, error) {
	d, err := agent.Decode(pinned.Body)
	if err != nil {
		return engine.Agent{}, err
	}
	var layers agent.Layers
	if current.Digest != "" {
		deployed, err := agent.Decode(current.Body)
		if err != nil {
			return engine.Agent{}, err
		}
		layers.Deployed = &deployed
	}
	if !core.IsNull(narrow) {
		own, err := agentfile.ParseNarrow(narrow)
		if err != nil {
			return engine.Agent{}, fmt.Errorf("agent %s: a run's own permissions: %w", d.Name, err)
		}
		layers.Narrow = &own
	}
	return a.build(d, layers)
}

// Newest implements [engine.Agents].
func (a *Agents) Newest(ctx context.Context, tenant, name string) (version string, err error) {
	return a.stored.Newest(ctx, tenant, name)
}
