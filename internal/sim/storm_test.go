package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/sim"
	"github.com/dormouse-dev/dormouse/internal/sqlite"
)

// plan is how rough a seed is.
type plan struct {
	calm     bool // callers do nothing that may change the outcome
	rate     float64
	late     float64
	pause    float64
	tryAgain float64 // of model calls
	skew     time.Duration
	jumps    float64
	workers  int
	limits   core.Limits

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
	memory    bool
	yields    float64

	order   sim.Order
	sqlite  bool
	written bool
	lag     int64
}

func planOf(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 77))
	pick := func(of ...float64) float64 { return of[rng.IntN(len(of))] }
	p := plan{calm: seed%5 == 0, rate: pick(0, 0.02, 0.05, 0.1), late: pick(0, 0, 0.05, 0.15), pause: pick(0, 0, 0.01, 0.04),
		tryAgain: pick(0, 0, 0.1), workers: 1 + rng.IntN(4), limits: core.DefaultLimits}
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
	p.order = sim.Order(rng.IntN(3))
	p.sqlite = *onSQLite
	p.written, p.lag = rng.IntN(32) == 0, int64(pick(0, 0, 100, 3000))
	return p
}

// measure says how much there is of everything. Most schedules are small: what goes wrong goes wrong between few, and sooner.
func (p *plan) measure(rng *rand.Rand) {
	p.threads, p.runs, p.turns, p.calls, p.rivals, p.acts = 1, 1+rng.IntN(2), 1+rng.IntN(3), 1+rng.IntN(3), 1, 1+rng.IntN(3)
	if *large || rng.IntN(150) == 0 {
		p.threads, p.runs, p.turns, p.calls, p.rivals, p.acts = 1+rng.IntN(2), 3, 5, 5, 2, 7
	}
	if p.calm {
		p.rivals = 0
	}
	p.sweeps = []int{1, 1, 2, 0}[rng.IntN(4)]
	p.period = sweepPeriod * []time.Duration{1, 1, 6}[rng.IntN(3)]
}

// quiet is the plan without anything that goes wrong by itself.
func (p plan) quiet() plan {
	p.rate, p.late, p.pause, p.skew, p.jumps, p.tryAgain = 0, 0, 0, 0, 0, 0
	return p
}

func (p plan) isQuiet() bool { return p.rate+p.late+p.pause+p.jumps+float64(p.skew) == 0 }

// plot chooses what the agents are like. Calm callers meet nothing whose outcome depends on when something happens.
func (p *plan) plot(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 78))
	chance := func(one int) bool { return rng.IntN(one) == 0 }
	p.hooks, p.memory, p.terms.Parallel = chance(2), chance(3), chance(2)
	p.yields = []float64{0, 0, 0.1}[rng.IntN(3)]
	p.terms.StepCalls, p.terms.RunCalls = []int{0, 0, 3}[rng.IntN(3)], []int{0, 0, 9}[rng.IntN(3)]
	p.terms.Memory = p.memory
	for _, spec := range []core.StopSpec{{Type: "consecutive_errors", Max: 3}, {Type: "loop_detection", Window: 3}, {Type: "max_rounds", Rounds: 6}} {
		if rule, err := spec.Rule(); err == nil && chance(3) {
			p.terms.Stops = append(p.terms.Stops, rule)
		}
	}
	p.deadlines, p.terms.Continue = chance(2) && !p.calm, chance(3) && !p.calm
}

// Timing on the virtual clock. Two clocks are at most twice the skew apart, which is less than the margin.
const (
	lease       = 20 * time.Second
	margin      = 7 * time.Second
	sweepPeriod = 5 * time.Second
	visibility  = 30 * time.Second
	noSweep     = 4 * time.Minute
)

// stage is the whole system in one process.
type stage struct {
	seed       uint64
	plan       plan
	w          *sim.World
	faults     *sim.Faults
	db         sim.FullStore
	bell       *bell
	watched    *watched
	referee    *referee
	front      *frontend.Frontend
	cast       *cast
	threads    []*thread
	final      map[int][]core.Message // the model's views at the end
	flaw       func(*halved) sim.FullStore
	lastSweep  func()          // begins the one that finds everything, once the faults are over
	busy       int             // callers that are not through
	outside    map[string]bool // runs that whoever runs the engine wants to end
	violations []string
}

func (s *stage) wrong(format string, args ...any) {
	if len(s.violations) < 5 {
		s.violations = append(s.violations, fmt.Sprintf("seed %d at %s: ", s.seed, s.w.Now().Format("15:04:05.000"))+fmt.Sprintf(format, args...))
	}
}

// emptyStore is a fresh store's file; copying it is faster than making one for each seed.
func emptyStore(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "empty.db")
	w := sim.NewWorld(0)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: w, Random: w, Sync: sqlite.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// play is one world from its beginning to its end.
func play(t *testing.T, template func() []byte, seed uint64, p plan, c cut) *stage {
	p = c.of(p)
	s := &stage{seed: seed, plan: p, w: sim.NewWorld(seed), final: map[int][]core.Message{}, outside: map[string]bool{}}
	s.w.Order, s.w.Veto, s.flaw = p.order, c.veto, c.flaw
	s.bell = &bell{w: s.w, rung: make(chan struct{})}
	if p.sqlite {
		db := openFile(t, template(), s.w)
		defer db.Close()
		s.db, s.bell.FullQueue = db, db
	} else {
		m := sim.NewMemory(s.w)
		m.Written, m.Lag = p.written, p.lag
		s.db, s.bell.FullQueue = m, &sim.MemoryQueue{Clock: s.w, Visibility: visibility}
	}
	if c.tell != nil {
		s.w.Trace(c.tell)
	}
	s.build(t.Context())
	if err := s.w.Run(400_000); err != nil {
		s.wrong("the world does not come to an end: %v", err)
		return s
	}
	s.check(t.Context())
	return s
}

func openFile(t *testing.T, template []byte, w *sim.World) *sqlite.DB {
	path := filepath.Join(t.TempDir(), "storm.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: w, Random: w, Sync: sqlite.SyncOff, Visibility: visibility, MaxAttempts: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (s *stage) build(ctx context.Context) {
	p := s.plan
	s.faults = sim.NewFaults(s.w, p.rate)
	s.faults.Pause, s.faults.PauseMax, s.faults.Late, s.faults.LateMax = p.pause, 3*lease, p.late, 2*lease
	s.watched, s.referee = watch(s), newReferee(s)
	s.cast = newCast(s)
	store, queue := sim.Store{Inner: s.watched, Faults: s.faults}, sim.Queue{Inner: s.bell, Faults: s.faults}
	if m, ok := s.db.(*sim.Memory); ok {
		store.Inner = &halved{s.watched, m}
		if s.flaw != nil {
			store.Inner = s.flaw(&halved{s.watched, m})
		}
	}
	s.front = frontend.New(frontend.Options{Store: store, Catalog: s.cast, Waker: queue, Clock: s.w, Random: s.w,
		Limits: frontend.Limits{Inline: 300}})
	for i := range p.workers {
		clock := &skewed{World: s.w}
		if p.skew > 0 {
			clock.usual = s.w.Upto(2*p.skew) - p.skew
		}
		w := &worker{s: s, clock: clock, store: store, queue: queue}
		w.engine = engine.New(engine.Options{Store: store, Waker: queue, Agents: s.cast, Clock: clock, Random: s.w,
			Lease: lease, Margin: margin, Grain: sweepPeriod, Limits: p.limits, Notifier: s.cast, Control: control{s}, Scheduler: s.w})
		s.w.Daemon(ctx, fmt.Sprintf("worker %d", i), w.work)
	}
	for range max(p.sweeps, 1) {
		s.w.Daemon(ctx, "a sweep", func(ctx context.Context) {
			if p.sweeps == 0 {
				_ = s.w.Sleep(ctx, noSweep) // callers who insist would wait for ever without one
			}
			s.sweep(ctx, store, queue, p.period)
		})
	}
	s.lastSweep = func() {
		s.w.Daemon(ctx, "the last sweep", func(ctx context.Context) { s.sweep(ctx, store, queue, sweepPeriod) })
	}
	s.callers(ctx)
}

// skewed is one worker's clock: wrong by a little, and now and then by minutes.
type skewed struct {
	*sim.World
	usual, jump time.Duration
}

func (c *skewed) Now() time.Time { return c.World.Now().Add(c.usual + c.jump) }

// bell wakes idle workers when a message may be there.
type bell struct {
	sim.FullQueue
	w    *sim.World
	rung chan struct{}
}

func (b *bell) next() <-chan struct{} { return b.rung }

func (b *bell) ringIn(d time.Duration) {
	if d > 0 {
		b.w.AfterFunc(d, func() { b.ringIn(0) })
		return
	}
	close(b.rung)
	b.rung = make(chan struct{})
}

func (b *bell) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	err := b.FullQueue.Send(ctx, w, delay)
	b.ringIn(delay)
	return err
}

func (b *bell) Receive(ctx context.Context, most int) ([]engine.Delivery, error) {
	got, err := b.FullQueue.Receive(ctx, most)
	if len(got) > 0 {
		b.ringIn(visibility)
	}
	return got, err
}

func (b *bell) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error {
	err := b.FullQueue.Nack(ctx, d, delay, cause)
	b.ringIn(delay)
	return err
}

type worker struct {
	s      *stage
	clock  *skewed
	store  sim.Store
	queue  sim.Queue
	engine *engine.Engine
}

// work takes one message after the other. When its process is lost, another one takes its place a little later.
func (w *worker) work(ctx context.Context) {
	for {
		w.tick()
		var worked bool
		lost := survive(func() { worked = w.once(ctx) })
		if lost {
			_ = w.s.w.Sleep(ctx, 200*time.Millisecond+w.s.w.Upto(time.Second))
		} else if !worked {
			w.s.w.Await(w.s.bell.next(), nil)
		}
	}
}

func (w *worker) tick() {
	w.clock.jump = 0
	if w.s.faults.Rate+w.s.faults.Pause+w.s.faults.Late > 0 && w.s.w.Chance(w.s.plan.jumps) {
		w.clock.jump = w.s.w.Upto(10*time.Minute) - 5*time.Minute
	}
}

func (w *worker) once(ctx context.Context) (worked bool) {
	got, err := w.queue.Receive(ctx, 1)
	if err != nil || len(got) == 0 {
		return false
	}
	if _, err := w.engine.Step(ctx, got[0].Wakeup); err != nil {
		if !errors.Is(err, engine.ErrUnavailable) && err.Error() != leaseOver {
			w.s.wrong("a step failed: %v", err)
		}
		_ = w.queue.Nack(ctx, got[0], time.Second, err.Error())
		return true
	}
	_ = w.queue.Ack(ctx, got[0])
	return true
}

const leaseOver = "engine: the lease is too near its end to start a body that must not run twice"

// survive runs f and says whether its process was lost on the way.
func survive(f func()) (lost bool) {
	defer func() {
		p := recover()
		if _, crash := p.(sim.Crash); p != nil && !crash {
			panic(p)
		}
		lost = p != nil
	}()
	f()
	return false
}

func (s *stage) sweep(ctx context.Context, store sim.Store, queue sim.Queue, period time.Duration) {
	for {
		survive(func() { _ = engine.Sweep(ctx, store, queue, s.w, period) })
		_ = s.w.Sleep(ctx, period)
	}
}
