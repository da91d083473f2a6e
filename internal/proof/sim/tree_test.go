package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// grove is a tree of runs in a world of its own: agents that call agents, people who decide at its
// leaves, and others who cancel, pause and speak anywhere in it, while workers are lost and writes
// land late. Every fourth schedule has one beside everything else.
type grove struct {
	*stage
	*treePlan
	rng    *rand.Rand
	kin    *kin
	reader *query.Reader
	store  sim.Store
	closed func()   // closes the store
	run    string   // the first one
	thread string   // and its thread
	seen   []string // suspensions that anyone ever saw
	ran    map[string]int
	// the agents elsewhere, by name
	elsewhere map[string]*outpost
}

const treesEvery = 4

// TestTrees plays trees alone (CH-1 to CH-4).
func TestTrees(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, uint64(effort.Of(0, 150)))
	}
	b := newBatch(t, n, cut{})
	b.schedule, b.mustMeet = growTree, treesMeet
	b.play()
}

// treesMeet is what any large number of trees must contain.
var treesMeet = []string{"crash before", "crash after", "not done, no answer", "done, reply lost", "message lost", "message doubled", "paused",
	"request landed again later", "launched again", "children disowned", "children at the fourth level", "twenty children", "decided after a cancel above",
	"results taken together", "cancelled by hand", "paused from above", "paused by hand", "late interrupts", "message while children work", "child_failed", "child_stopped",
	"child_cancelled", "child_unavailable", "child_blocked", "abandoned", "timed_out", "not applied", "limited children",
	"remote tasks", "remote looks", "remote found again", "remote unclear", "remote stopped", "remote news", "remote answer lost"}

// growTree plays the tree of a seed, and returns what is wrong with it.
func growTree(t *testing.T, template func() []byte, seed uint64, c cut) (met map[string]int, wrong []string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = []string{fmt.Sprintf("seed %d: %v", seed, p)}
		}
	}()
	p := c.of(planOf(seed))
	g := &grove{stage: &stage{seed: seed, plan: p, tenant: "t", w: sim.NewWorld(seed)}, treePlan: planTree(seed, p), rng: rand.New(rand.NewPCG(seed, 92)), ran: map[string]int{}, elsewhere: map[string]*outpost{}}
	g.first, g.w.Order, g.w.Veto = g.stage, p.order, c.veto
	if c.tell != nil {
		g.w.Trace(c.tell)
	}
	g.build(t, template)
	if err := g.w.Run(600_000); err != nil {
		g.wrong("the tree does not come to an end: %v", err)
	}
	if g.table != nil {
		g.table.settle()
	}
	g.kin.check()
	if g.closed != nil {
		g.closed()
	}
	if c.happened != nil {
		for kind, n := range g.w.Happened() {
			c.happened[kind] += n
		}
	}
	g.faults.Counts["operations"] = int(g.faults.Ops)
	return g.faults.Counts, g.violations
}

// place puts the tree on its store, and returns that as workers and callers see it.
func (g *grove) place(t *testing.T, template func() []byte) sim.FullStore {
	p := g.plan
	g.kin = newKin(g)
	g.bell = &bell{FullQueue: &sim.MemoryQueue{Clock: g.w, Visibility: visibility}, w: g.w, rung: make(chan struct{})}
	switch {
	case p.sqlite:
		db := openFile(t, template(), g.w, p.bound())
		g.closed = func() { _ = db.Close() }
		g.kin.FullStore, g.kin.raw, g.bell.FullQueue = db, db, db
	case p.dynamo:
		g.table = g.onTable(t)
		g.table.lookAll = g.kin.lookAtAll
		g.kin.FullStore, g.kin.raw = g.table, shown{g.table}
	default:
		memory := sim.NewMemory(g.w)
		memory.Written, memory.Lag = p.written, p.lag
		g.kin.FullStore, g.kin.raw = memory, memory
		return &kinInHalves{g.kin, memory}
	}
	return g.kin
}

func (g *grove) build(t *testing.T, template func() []byte) {
	ctx, p := t.Context(), g.plan
	g.faults = sim.NewFaults(g.w, p.rate)
	g.faults.Pause, g.faults.PauseMax, g.faults.Late, g.faults.LateMax = p.pause, 3*lease, p.late, []time.Duration{2, 6}[g.rng.IntN(2)]*lease
	g.faults.Worse = map[string]float64{"start": 3, "signal": 3}
	inner := g.place(t, template)
	g.db = g.kin.raw
	g.store = sim.Store{Inner: inner, Faults: g.faults, Lose: g.w.Lose, Joint: g.joint()}
	store, queue := g.store, sim.Queue{Inner: g.bell, Faults: g.faults, Lose: g.w.Lose}
	g.reader = query.New(frontend.New(frontend.Options{Store: store, Catalog: g, Waker: queue, Clock: g.wrongClock(), Random: g.w,
		Limits: frontend.Limits{Inline: 300, Pages: inNobodysWay}}))
	for i := range p.workers {
		clock := g.wrongClock()
		w := &worker{s: g.stage, clock: clock, store: store, queue: queue}
		w.engine = engine.New(engine.Options{Store: store, Earlier: store, Waker: queue, Agents: g, Clock: clock, Random: g.w, Lease: lease, Margin: margin,
			Skew: skew, Grain: sweepPeriod, Limits: unlimited, Scheduler: g.w})
		g.w.Daemon(ctx, fmt.Sprintf("worker %d", i), w.work)
	}
	g.w.Daemon(ctx, "a sweep", func(ctx context.Context) { g.sweep(ctx, store, queue, p.period) })
	g.w.Go(ctx, "the starter", g.lead)
}

// Current implements frontend.Catalog.
func (g *grove) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: "v1", Body: json.RawMessage(`{}`)}, nil
}

// Deployed implements frontend.Catalog.
func (g *grove) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

// Newest implements [engine.Agents].
func (g *grove) Newest(_ context.Context, _, name string) (string, error) {
	if g.nodes[name].end == "is missing" {
		return "", engine.ErrNotFound
	}
	return "v1", nil
}

// Load implements [engine.Agents].
func (g *grove) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	n := g.nodes[pin.Name]
	if g.w.Chance(g.faults.Rate / 4) {
		return engine.Agent{}, &engine.AgentUnavailableError{Name: pin.Name, Reason: "the secret TOKEN is not set"}
	}
	return engine.Agent{Rules: nodeRules{n, g.plan}, Model: nodeModel{g, n}, Tools: map[string]engine.Tool{askTool: g, lookTool: g, onceTool: g}, Peers: g.peers(n)}, nil
}

var _ core.Rules = nodeRules{}
