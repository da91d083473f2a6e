package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// election is one call about which several people decide, in a world of its own: they vote, edit,
// repeat themselves and answer old questions, while workers are lost and writes land late. Every
// seventh schedule has one beside everything else.
type election struct {
	*stage
	rng      *rand.Rand
	policy   *vote.Policy
	deadline int64
	slow     bool // so much so that moments come
	quiet    bool // votes come late, and silence approves
	separate bool // who started the run may not approve
	reader   *query.Reader
	run      string
	teller   *teller
	seen     []wire.Pending
	ran      int
}

const electionEvery = 7

var electorates = []vote.Policy{
	{Stages: []vote.Stage{electorate(2, false, "a", "b", "c")}},
	{Stages: []vote.Stage{electorate(2, true, "a", "b", "c")}},
	{Stages: []vote.Stage{electorate(3, true, "a", "b", "c", "d")}},
	{Stages: []vote.Stage{electorate(1, false, "a", "b"), electorate(2, false, "b", "c", "d")}},
	{Stages: []vote.Stage{electorate(2, false, "a", "b", "c"), electorate(1, true, "a", "c", "d")}},
	{Stages: []vote.Stage{electorate(1, false, "a", "b")}},
	{Stages: []vote.Stage{electorate(1, false, "c")}},
}

// waiting returns a policy with what happens while it waits: reminders, escalations, a deadline.
func (e *election) waiting(p vote.Policy) *vote.Policy {
	p.Stages = slices.Clone(p.Stages)
	for i := range p.Stages {
		s := &p.Stages[i]
		if e.rng.IntN(2) == 0 {
			s.Remind = &vote.Reminders{After: e.between(1000, 10_000), Every: e.between(500, 5000), Most: 1 + e.rng.IntN(4)}
		}
		// where a majority denies, more people would move the bound
		if e.rng.IntN(3) == 0 {
			s.Escalate = &vote.Escalation{After: e.between(1000, 20_000), To: electorate(0, false, "b", "c", "d", "e").Group, Replace: s.Majority || e.rng.IntN(2) == 0}
		}
	}
	if e.rng.IntN(4) == 0 || e.quiet {
		p.Deadline = &vote.Limit{Within: e.between(5000, 45_000), Approve: e.quiet || e.rng.IntN(2) == 0}
	}
	return &p
}

func (e *election) between(least, most int) int64 { return int64(least + e.rng.IntN(most-least)) }

func electorate(need int, majority bool, names ...string) vote.Stage {
	s := vote.Stage{Group: vote.Group{Name: fmt.Sprint(names)}, Need: need, Majority: majority}
	for _, name := range names {
		s.Group.Members = append(s.Group.Members, vote.Member{Person: name, Is: []string{"token:" + name, "token:" + name + "2"}})
	}
	return s
}

// elect plays the election of a seed, and returns what is wrong with it.
func elect(ctx context.Context, seed uint64, p plan) (met map[string]int, wrong []string) {
	e := &election{stage: &stage{seed: seed, plan: p, tenant: "t", w: sim.NewWorld(seed)}, rng: rand.New(rand.NewPCG(seed, 90))}
	e.slow, e.quiet = e.rng.IntN(2) == 0, e.rng.IntN(8) == 0
	e.policy = e.waiting(electorates[e.rng.IntN(len(electorates))])
	e.separate = e.rng.IntN(4) == 0
	if e.rng.IntN(3) == 0 {
		e.deadline = int64(5000 + e.rng.IntN(40_000))
	}
	e.faults = sim.NewFaults(e.w, p.rate)
	e.faults.Pause, e.faults.PauseMax, e.faults.Late, e.faults.LateMax = p.pause, 3*lease, p.late, 2*lease
	e.build(ctx)
	if err := e.w.Run(200_000); err != nil {
		e.wrong("the election does not come to an end: %v", err)
		return e.faults.Counts, e.violations
	}
	e.teller.close(ctx)
	return e.faults.Counts, e.violations
}

func (e *election) build(ctx context.Context) {
	memory := sim.NewMemory(e.w)
	memory.Written, memory.Lag = e.plan.written, e.plan.lag
	e.teller = newTeller(e, memory)
	e.bell = &bell{FullQueue: &sim.MemoryQueue{Clock: e.w, Visibility: visibility}, w: e.w, rung: make(chan struct{})}
	store, queue := sim.Store{Inner: e.teller, Faults: e.faults, Lose: e.w.Lose}, sim.Queue{Inner: e.bell, Faults: e.faults, Lose: e.w.Lose}
	e.reader = query.New(frontend.New(frontend.Options{Store: store, Catalog: e, Waker: queue, Clock: e.w, Random: e.w,
		Limits: frontend.Limits{Pages: inNobodysWay}}))
	for i := range 2 {
		clock := e.wrongClock()
		w := &worker{s: e.stage, clock: clock, store: store, queue: queue}
		w.engine = engine.New(engine.Options{Store: store, Waker: queue, Agents: e, Clock: clock, Random: e.w, Lease: lease, Margin: margin,
			Skew: skew, Grain: sweepPeriod, Limits: unlimited, Scheduler: e.w})
		e.w.Daemon(ctx, fmt.Sprintf("worker %d", i), w.work)
	}
	e.w.Daemon(ctx, "sweep", func(ctx context.Context) { e.sweep(ctx, store, queue, sweepPeriod) })
	e.w.Go(ctx, "the starter", e.lead)
}

// lead starts the run, lets everyone vote, and ends the run if they can't.
func (e *election) lead(ctx context.Context) {
	got, err := persist(ctx, e.stage, func(ctx context.Context) (frontend.Started, error) {
		return e.reader.Start(ctx, frontend.Caller{Tenant: "t", By: "token:shop"}, "start", wire.StartRequest{Agent: "a", Input: json.RawMessage(`"go"`)})
	})
	if err != nil {
		e.wrong("the start was refused: %v", err)
		return
	}
	e.run = got.Run.ID
	for _, name := range []string{"a", "b", "c", "d", "e", "eve"} {
		e.w.Go(ctx, name, func(ctx context.Context) { e.voter(ctx, name) })
	}
	_ = e.w.Sleep(ctx, time.Minute+e.w.Upto(time.Minute))
	if e.rng.IntN(2) == 0 {
		_ = e.w.Sleep(ctx, 2*time.Minute)
	}
	shop := frontend.Caller{Tenant: "t", By: "token:shop"}
	_, _ = persist(ctx, e.stage, func(ctx context.Context) (wire.Run, error) { return e.reader.Cancel(ctx, shop, e.run) })
	e.faults.Rate, e.faults.Late, e.faults.Pause = 0, 0, 0
	for range 200 {
		_ = e.w.Sleep(ctx, 5*time.Second)
		if h, err := e.teller.Load(ctx, "t", got.Run.ThreadID); err == nil && !h.Open() {
			return
		}
	}
	e.wrong("%s was cancelled, and does not end", e.run)
}

// voter votes on whatever waits, now and then by another way, or on a question of before.
func (e *election) voter(ctx context.Context, name string) {
	if e.quiet {
		_ = e.w.Sleep(ctx, e.w.Upto(2*time.Minute))
	}
	for range 2 + e.rng.IntN(12) {
		// in a hurry, votes meet the commits that take up others
		_ = e.w.Sleep(ctx, e.w.Upto([]time.Duration{20 * time.Millisecond, time.Second, 8 * time.Second}[e.rng.IntN(3)]))
		if e.slow {
			_ = e.w.Sleep(ctx, e.w.Upto(40*time.Second))
		}
		by := "token:" + name + []string{"", "", "2"}[e.rng.IntN(3)]
		who := frontend.Caller{Tenant: "t", By: by, Via: "api"}
		got, err := persist(ctx, e.stage, func(ctx context.Context) (wire.Run, error) { return e.reader.Run(ctx, who, e.run) })
		if err != nil || got.Status == core.RunDone.String() {
			return
		}
		e.seen = append(e.seen, got.Pending...)
		if len(e.seen) == 0 {
			continue
		}
		p := e.seen[len(e.seen)-1]
		if e.rng.IntN(8) == 0 {
			p = e.seen[e.rng.IntN(len(e.seen))]
		}
		e.send(ctx, who, p)
	}
}

func (e *election) send(ctx context.Context, who frontend.Caller, p wire.Pending) {
	d := wire.Decision{Target: p.Suspension.ID, Action: "resume"}
	switch e.rng.IntN(12) {
	case 0, 1:
		d.Action, d.Reason = "cancel", who.By+" says no"
	case 2:
		d.Arguments = json.RawMessage(fmt.Sprintf(`{"amount":%d}`, 100+e.rng.IntN(900)))
	}
	answer, err := persist(ctx, e.stage, func(ctx context.Context) (wire.DecisionAnswer, error) { return e.reader.Decide(ctx, who, e.run, d) })
	e.w.Note("%s votes %s on %s: %s", who.By, d.Action, d.Target, toldOf(answer, err))
	switch {
	case err == nil && answer.Code == "accepted":
		e.faults.Counts["votes accepted"]++
		if d.Arguments != nil {
			e.faults.Counts["votes that edit"]++
		}
	case err == nil:
		e.faults.Counts["votes repeated"]++
	default:
		e.faults.Counts["votes refused "+string(code(err))]++
	}
}

// Load implements [engine.Agents].
func (e *election) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{Rules: e, Model: electionModel{}, Tools: map[string]engine.Tool{"pay": e, "look": e}}, nil
}

// Newest implements [engine.Agents].
func (e *election) Newest(context.Context, string, string) (string, error) { return "v1", nil }

func (e *election) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: "v1", Body: json.RawMessage(`{}`)}, nil
}

func (e *election) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

// Tool implements [core.Rules].
func (e *election) Tool(name string) (core.ToolSpec, bool) {
	return core.ToolSpec{Name: name, Delivery: core.AtLeastOnce}, true
}

// Check implements [core.Rules].
func (e *election) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (e *election) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if call.Name == "look" {
		return core.Verdict{Effect: core.Allow}
	}
	v := core.Verdict{Effect: core.Ask, Policy: e.policy}
	if e.separate {
		v.NotBy = core.NotByStarter
	}
	return v
}

// Deadline implements [core.Rules].
func (e *election) Deadline(core.ToolCall, core.Kind) core.Deadline {
	return core.Deadline{Within: e.deadline}
}

// Times implements [core.Rules].
func (*election) Times(p *vote.Policy, stage int, now int64) core.Times {
	return core.TimesOf(p, stage, core.AllHours(now))
}

// Terms implements [core.Rules].
func (e *election) Terms() core.Terms { return core.Terms{Parallel: true} }

func (e *election) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// Run is the body of the call that the votes are about, and of one beside it: while that runs,
// votes are taken up by commits that do not close.
func (e *election) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	if req.Call.Name == "look" {
		return core.Outcome{Text: "seen"}, e.w.Sleep(ctx, e.w.Upto(12*time.Second))
	}
	e.ran++
	e.faults.Counts["votes that let a call run"]++
	e.teller.mayRun(req.Call)
	return core.Outcome{Text: "done"}, nil
}

type electionModel struct{}

func (electionModel) Ask(_ context.Context, p engine.Prompt) (core.Turn, error) {
	if len(p.Messages) > 1 {
		return core.Turn{Text: "all done"}, nil
	}
	return core.Turn{Calls: []core.ToolCall{{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"amount":100}`)},
		{ID: "c2", Name: "look", Arguments: json.RawMessage(`{}`)}}}, nil
}

// TestElections plays elections alone: many are short enough for every run of the tests.
func TestElections(t *testing.T) {
	met := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		some, wrong := elect(t.Context(), seed, planOf(seed))
		for kind, n := range some {
			met[kind] += n
		}
		if len(wrong) > 0 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
	}
	for _, kind := range []string{"votes accepted", "votes repeated", "votes that edit", "votes that let a call run", "votes refused already_decided",
		"votes refused arguments_changed", "votes refused not_an_approver", "votes refused separation_of_duties", "moments call.reminded",
		"moments call.escalated", "moments at once", "questions asked of another group", "approved by silence"} {
		if met[kind] == 0 {
			t.Errorf("there was never: %s (%v)", kind, met)
		}
	}
}
