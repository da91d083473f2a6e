package sim_test

import (
	"math/rand/v2"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// plan is how rough a seed is.
type plan struct {
	calm     bool // callers do nothing that may change the outcome
	rate     float64
	late     float64
	pause    float64
	tryAgain float64 // of model calls
	breaks   float64 // of model calls: the run ends in error, and may be retried
	outages  float64 // of model calls: the model is down from then on, for seconds or hours
	skew     time.Duration
	jumps    float64
	workers  int
	limits   plans.Limits

	threads int
	runs    int // that the lead starts in each, one after the other
	turns   int // in a row, at most
	calls   int // of a turn, at most
	rivals  int // two sorts, so many of each
	acts    int // of a rival, at least
	sweeps  int
	period  time.Duration // of a sweep

	terms     core.Terms
	deadlines bool
	hooks     bool
	hooksFail bool
	memory    bool
	yields    float64
	long      float64 // the chance that a body takes its time

	declines  bool   // clients and people who are asked say now and then that they don't answer
	favourite string // a tool that the model asks for more often than for others; may be empty
	people    people
	neighbour *neighbourhood // nil: there is one tenant

	order   sim.Order
	sqlite  bool
	dynamo  bool
	written bool
	joint   bool // releases bring along what they ask of the queue
	lag     int64

	unheard float64 // how many times as often as others commits go wrong; 0: as often

	crowded   bool            // delivery lines hold little; operators redrive what was given up
	endpoints int             // how many subscribe to the runs, see [endpoints]
	remind    *vote.Reminders // of people who are asked; nil: none
	escalate  *vote.Escalation
}

func planOf(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 77))
	pick := func(of ...float64) float64 { return of[rng.IntN(len(of))] }
	p := plan{calm: seed%5 == 0, rate: pick(0, 0.02, 0.05, 0.1), late: pick(0, 0, 0.05, 0.15), pause: pick(0, 0, 0.01, 0.04),
		tryAgain: pick(0, 0, 0.1), workers: 1 + rng.IntN(4), limits: plans.DefaultLimits}
	p.breaks = 0.04
	p.skew = time.Duration(pick(0, 0, 3)) * time.Second
	p.jumps = pick(0, 0, 0.02)
	if p.calm {
		p.limits = unlimited
	}
	if seed%7 == 3 {
		p = p.quiet()
	}
	p.plot(seed)
	p.measure(rng)
	p.meet(seed)
	if rng.IntN(4) == 0 {
		p.favourite = []string{"askgrant", toolNames[rng.IntN(len(toolNames))]}[rng.IntN(2)]
		p.breaks = []float64{0.04, 0.2}[rng.IntN(2)]
	}
	p.order = sim.Order(rng.IntN(3))
	p.sqlite, p.dynamo = *onSQLite, *onDynamo
	p.written, p.lag = rng.IntN(32) == 0, int64(pick(0, 0, 100, 3000))
	if p.outages = pick(0, 0, 0.05); seed%7 == 3 {
		p.outages = 0
	}
	p.terms.Yield = rand.New(rand.NewPCG(seed, 80)).IntN(4) == 0
	p.overlap(rand.New(rand.NewPCG(seed, 81)))
	p.joint = rand.New(rand.NewPCG(seed, 84)).IntN(2) == 0 && !p.dynamo
	p.endpoints = int(seed / 3 % 4)
	p.crowded = p.endpoints > 0 && rand.New(rand.NewPCG(seed, 83)).IntN(3) == 0
	if rng := rand.New(rand.NewPCG(seed, 82)); !p.calm && rng.IntN(3) == 0 {
		p.remind = &vote.Reminders{After: 1000 + rng.Int64N(20_000), Every: 500 + rng.Int64N(10_000), Most: 1 + rng.IntN(4)}
		if rng.IntN(3) == 0 {
			p.escalate = &vote.Escalation{After: 1000 + rng.Int64N(20_000), Replace: rng.IntN(2) == 0}
		}
	}
	return p
}

// measure says how much there is of everything. Most schedules are small: what goes wrong goes
// wrong between few, and sooner.
func (p *plan) measure(rng *rand.Rand) {
	p.threads, p.runs, p.turns, p.calls, p.rivals, p.acts = 1, 1+rng.IntN(2), 1+rng.IntN(3), 1+rng.IntN(3), 1, 1+rng.IntN(3)
	if rare := rng.IntN(150) == 0; rare || *large {
		p.threads, p.runs, p.turns, p.calls, p.rivals, p.acts = 1+rng.IntN(2), 3, 5, 5, 2, 7
	}
	if p.calm {
		p.rivals = 0
	}
	p.sweeps = []int{1, 1, 2, 0}[rng.IntN(4)]
	p.period = sweepPeriod * []time.Duration{1, 1, 6}[rng.IntN(3)]
}

// overlap lets bodies take their time, so that decisions come while others run.
func (p *plan) overlap(rng *rand.Rand) {
	if !p.terms.Parallel || p.calm || rng.IntN(2) == 0 {
		return
	}
	p.long, p.calls = 0.6, max(p.calls, 3)
	if p.favourite == "" {
		p.favourite = []string{"ask", "askidem", "write", "tear"}[rng.IntN(4)]
	}
}

// quiet is the plan without anything that goes wrong by itself.
func (p plan) quiet() plan {
	p.rate, p.late, p.pause, p.skew, p.jumps, p.tryAgain = 0, 0, 0, 0, 0, 0
	p.outages = 0
	return p
}

// bound is that of delivery lines.
func (p plan) bound() notice.Bound {
	if p.crowded {
		return notice.Bound{Failed: 1, New: 1, Bytes: notice.Most.Bytes}
	}
	return notice.Most
}

func (p plan) isQuiet() bool { return p.rate+p.late+p.pause+p.jumps+float64(p.skew) == 0 }

// plot chooses what the agents are like. Calm callers meet nothing whose outcome depends on when
// something happens.
func (p *plan) plot(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 78))
	chance := func(one int) bool { return rng.IntN(one) == 0 }
	p.hooks, p.memory, p.terms.Parallel = chance(2), chance(3), chance(2)
	p.yields = []float64{0, 0, 0.1}[rng.IntN(3)]
	p.terms.StepCalls, p.terms.RunCalls = []int{0, 0, 3}[rng.IntN(3)], []int{0, 0, 9}[rng.IntN(3)]
	p.terms.Memory = p.memory
	for _, spec := range []stoprule.Spec{{Type: "consecutive_errors", Max: 3}, {Type: "loop_detection", Window: 3}, {Type: "max_rounds", Rounds: 6}} {
		if rule, err := spec.Rule(); err == nil && chance(3) {
			p.terms.Stops = append(p.terms.Stops, rule)
		}
	}
	p.hooksFail = chance(3)
	p.deadlines, p.terms.Continue = chance(2) && !p.calm, chance(3) && !p.calm
	if bound := []int64{0, 0, 40_000, 600_000}[rng.IntN(4)]; !p.calm {
		p.terms.Outage = bound
	}
}

// Timing on the virtual clock. Two clocks are at most twice the plan's skew apart, which is less
// than the margin. Others wait for the skew of the engine, which is that of the step function,
// before they take a claim over.
const (
	lease       = 20 * time.Second
	margin      = 7 * time.Second
	skew        = 5 * time.Second
	sweepPeriod = 5 * time.Second
	visibility  = 30 * time.Second
	noSweep     = 4 * time.Minute
)
