// Package program connects the definitions of agents with their implementation: models, tool
// bodies, hooks, memories and the policy. It selects adapters and contains no rules; its caller
// decides where definitions are stored.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// Definitions stores versions of agents.
type Definitions interface {
	frontend.Catalog
	// Newest returns the digest of the deployed version, or [engine.ErrNotFound] if none is
	// deployed.
	Newest(ctx context.Context, tenant, name string) (digest string, err error)
	Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error)
	PutDefinition(ctx context.Context, d engine.Definition) error
	Deploy(ctx context.Context, tenant, name, digest string) error
	Undeploy(ctx context.Context, tenant, name string) error
}

// Program is the implementation of the agents.
type Program struct {
	Tools  *tool.Registry
	Hooks  *hook.Registry
	HTTP   *httptool.Caller   // nil reaches public addresses only
	Policy *agent.Permissions // applies to all agents; nil for none
	Asking ask.Policies       // who decides about asks that name a group or a policy
	Prices agent.Prices       // of models whose agents have no price; nil for none
	// Dir is the directory of the agent files; recordings and workspaces are relative to it
	Dir string
	// Home is the tenant that deploys: agents that name no tenants belong to it; "" means any
	// tenant that they are deployed to
	Home  string
	Clock engine.Clock

	// Models are the providers of models other than scripted and recorded ones; nil for none.
	Models map[string]Provider

	// Bodies create the bodies of tools that are neither Go functions, HTTP requests nor
	// recorded, by the kind of the tool; nil for none.
	Bodies map[string]Bodies

	// Peers creates what reaches the agents that run elsewhere, by the tool that calls them;
	// nil if this program calls none.
	Peers Peers

	// Commands reports that effects may run commands on this machine, as the operator allows.
	Commands bool

	// Codes reports that one-time codes can be mailed.
	Codes bool

	// Hidden returns the secrets of this process, which are removed from the output of effects;
	// nil for none.
	Hidden func() secret.Values

	// Idle: this process runs nothing. It describes and checks definitions, without models and
	// bodies.
	Idle bool
}

// Provider creates the model of a definition. It makes no network request: a definition can be
// deployed wherever its provider exists.
type Provider func(agent.Definition) (engine.Model, error)

// Bodies creates the body of one tool of a definition, also without a network request.
type Bodies func(agent.Definition, agent.Tool) (engine.Tool, error)

// Peers creates what reaches the agent elsewhere that a tool of a definition calls, also without a
// network request.
type Peers func(agent.Definition, agent.Tool) (engine.Peer, error)

// The kinds of tools whose bodies [Bodies] creates.
const (
	BodyLambda = "lambda"
	BodyMCP    = "mcp"
)

// Agents connects stored definitions with models, tool bodies, hooks and memories. It is safe for
// concurrent use.
type Agents struct {
	Program
	stored Definitions

	deploying sync.Mutex // held while agents are deployed to tenants; taken before mu

	mu       sync.Mutex
	known    map[versions]engine.Agent
	ready    map[string]behind // by the digest of the version
	viewed   map[viewed]view
	deployed []agent.Definition // most recently
	tenants  map[string]bool    // the tenants that it was deployed to

	unreadable []string          // files that were not valid agents at that deployment
	sources    map[string]source // of the agents that were deployed most recently
	reported   map[string]string // state of an agent's files whose errors were reported last
	// agents that a failed Reload may have deployed to some tenants
	unfinished  map[string]bool
	unavailable map[string]Unavailable
	incomplete  problemsOf
	found       map[string]Unavailable // what a running Serve has found so far
	unstored    bool                   // a full disk kept the last Serve from storing something
}

// versions determine an agent: the version that a run is pinned to, the deployed version, whose
// denials also apply, and the run's own permissions. The policy is the same for all.
type versions struct{ tenant, name, pinned, deployed, narrow string }

// mostKnown limits the agents that are kept ready. Runs may have their own permissions, so their
// number is unbounded.
const mostKnown = 1000

// NewAgents returns agents that are implemented by p.
func NewAgents(stored Definitions, p Program) *Agents {
	if p.HTTP == nil {
		p.HTTP = httptool.New(httptool.Options{Clock: p.Clock, Random: machine.Random{}})
	}
	return &Agents{Program: p, stored: shelf{stored, new(atomic.Pointer[engine.Definition])}, known: map[versions]engine.Agent{}, ready: map[string]behind{}, tenants: map[string]bool{},
		viewed: map[viewed]view{}, unavailable: map[string]Unavailable{}, unfinished: map[string]bool{}}
}

// Deploy makes the agents of the directory, and no others, the ones that new runs of the tenants
// start with. If one of them cannot be deployed, or calls an agent that does not exist, nothing is.
// Versions that suspended runs are pinned to stay.
func (a *Agents) Deploy(ctx context.Context, tenants ...string) ([]agent.Definition, error) {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	files, err := agentfile.ReadFiles(a.Dir)
	if err != nil {
		return nil, err
	}
	loaded, unreadable := agentfile.Sort(files)
	if err := a.servable(loaded, unreadable, files); err != nil {
		return nil, &NotServableError{err}
	}
	a.mu.Lock()
	a.deployed, a.unreadable = loaded, nil
	clear(a.unavailable)
	a.incomplete = nil
	a.mu.Unlock()
	a.remember(files, nil)
	if err := each(tenants, func(tenant string) error { return a.join(ctx, tenant, loaded) }); err != nil {
		return nil, err
	}
	return loaded, nil
}

// NotServableError says why [Agents.Deploy] deployed nothing: at least one agent cannot be served.
type NotServableError struct{ Err error }

func (e *NotServableError) Error() string { return e.Err.Error() }

func (e *NotServableError) Unwrap() error { return e.Err }

// servable returns everything that is wrong with the agents and their files.
func (a *Agents) servable(loaded []agent.Definition, unreadable []agentfile.Unreadable, files []agentfile.File) error {
	var wrong []error
	for _, u := range unreadable {
		wrong = append(wrong, u.Err)
	}
	if wrong != nil {
		return errors.Join(wrong...)
	}
	incomplete := a.missingCallees(loaded, nil, files)
	for _, name := range slices.Sorted(maps.Keys(incomplete)) {
		for _, p := range incomplete[name] {
			wrong = append(wrong, errors.New(p.String()))
		}
	}
	return errors.Join(append(wrong, a.check(loaded))...)
}

// Join deploys the most recent deployment to a tenant that does not have it, and does nothing for
// others. It does not read the directory again, which may contain unfinished changes.
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

// deploy writes only what is not deployed yet, so that a server with a full disk can start with the
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

// check returns everything that prevents this program from running the definitions.
func (a *Agents) check(loaded []agent.Definition) error {
	var wrong []error
	for _, d := range loaded {
		functions := a.Tools.Specs()
		for _, name := range d.Missing(functions) {
			wrong = append(wrong, lack(d.Name, "function", name, slices.Sorted(maps.Keys(functions))))
		}
		// only at a deployment: a suspended run continues, and its call reports it
		for _, lacks := range a.HTTP.Lacks(d) {
			wrong = append(wrong, &engine.LacksError{Text: lacks})
		}
		if !a.Codes {
			for _, lacks := range Codes(d) {
				wrong = append(wrong, &engine.LacksError{Text: lacks})
			}
		}
		if _, err := a.build(d, supplied.Input{}, agent.Layers{}); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// undeploy removes what was deployed before and is no longer.
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
	// no longer deployed: its suspended runs continue unchanged
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Agent{}, err
	}
	key := versions{pin.Tenant, pin.Name, pin.Version, newest, string(pin.Narrow)}
	a.mu.Lock()
	found, ok := a.known[key]
	a.mu.Unlock()
	// what starts supply is theirs to choose, and could fill the memory
	own := !pin.Supplied.Empty()
	if ok && !own {
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
	made, err := a.assemble(pinned, current, pin)
	if err != nil {
		return engine.Agent{}, err
	}
	if !own {
		a.keep(key, made)
	}
	return made, nil
}

// definition returns a stored version, or a zero one if there is none.
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

func (a *Agents) assemble(pinned, current engine.Definition, pin engine.Pin) (engine.Agent, error) {
	d, err := agent.Decode(pinned.Body)
	if err != nil {
		return engine.Agent{}, err
	}
	if d.Name == ask.Agent {
		return a.asks(d, pin.Narrow)
	}
	var layers agent.Layers
	if current.Digest != "" {
		deployed, err := agent.Decode(current.Body)
		if err != nil {
			return engine.Agent{}, err
		}
		layers.Deployed = &deployed
	}
	if !core.IsNull(pin.Narrow) {
		own, err := agentfile.ParseNarrow(pin.Narrow)
		if err != nil {
			return engine.Agent{}, fmt.Errorf("agent %s: a run's own permissions: %w", d.Name, err)
		}
		layers.Narrow = &own
	}
	return a.build(d, pin.Supplied, layers)
}

// Newest implements [engine.Agents].
func (a *Agents) Newest(ctx context.Context, tenant, name string) (version string, err error) {
	return a.stored.Newest(ctx, tenant, name)
}
