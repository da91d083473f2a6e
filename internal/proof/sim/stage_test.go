package sim_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// stage is the whole system in one process, as one tenant knows it. A second tenant has a stage of
// its own, with everything else in common.
type stage struct {
	seed       uint64
	plan       plan
	tenant     string
	first      *stage // of the tenants that share a world
	next       *stage // the other one; nil: there is none
	w          *sim.World
	faults     *sim.Faults
	db         sim.FullStore
	table      *table // if that is what db is; with its faults
	bell       *bell
	watched    *watched
	referee    *referee
	follower   *feedFollower
	receivers  *receivers
	front      desk
	luck       *luck
	cast       *cast
	threads    []*thread
	final      map[int][]core.Message // the model's views at the end
	flaw       func(*halved) sim.FullStore
	lastSweep  func()          // begins the one that finds everything, once the faults are over
	busy       int             // callers that are not through
	downUntil  time.Time       // no model answers before
	unserved   time.Time       // when an agent was unavailable last
	outside    map[string]bool // runs that whoever runs the engine wants to end
	violations []string
	reads      bool           // the events, at the end
	met        map[string]int // in the events that callers read, if the plan reads them
}

func (s *stage) wrong(format string, args ...any) {
	first := s
	if s.first != nil {
		first = s.first
	}
	if len(first.violations) < 5 {
		first.violations = append(first.violations, fmt.Sprintf("seed %d at %s: ", first.seed, s.w.Now().Format("15:04:05.000"))+fmt.Sprintf(format, args...))
	}
}

// emptyStore is a fresh store's file; copying it is faster than making one for each seed.
func emptyStore(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "empty.db")
	w := sim.NewWorld(0)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: w, Random: w, Sync: dbfile.SyncOff})
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
	s := &stage{seed: seed, plan: p, tenant: "t", w: sim.NewWorld(seed), final: map[int][]core.Message{}, outside: map[string]bool{}, met: map[string]int{}, reads: c.reader != nil || seed%readEvents == 0}
	s.first = s
	s.w.Order, s.w.Veto, s.flaw = p.order, c.veto, c.flaw
	s.bell = &bell{w: s.w, rung: make(chan struct{})}
	switch {
	case p.sqlite:
		db := openFile(t, template(), s.w, p.bound())
		defer db.Close()
		s.db, s.bell.FullQueue = db, db
	case p.dynamo:
		s.table = s.onTable(t)
		s.db, s.bell.FullQueue = shown{s.table}, &sim.MemoryQueue{Clock: s.w, Visibility: visibility}
	default:
		m := sim.NewMemory(s.w)
		m.Written, m.Lag, m.Bound = p.written, p.lag, p.bound()
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
	if s.table != nil {
		s.table.settle()
	}
	for _, of := range s.tenants() {
		of.check(t.Context())
		c.reader.add(of)
	}
	return s
}

func openFile(t *testing.T, template []byte, w *sim.World, b notice.Bound) *sqlite.DB {
	path := filepath.Join(t.TempDir(), "sim.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: w, Random: w, Sync: dbfile.SyncOff, Visibility: visibility, MaxAttempts: 1 << 30, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (s *stage) build(ctx context.Context) {
	p := s.plan
	s.faults = sim.NewFaults(s.w, p.rate)
	s.faults.Pause, s.faults.PauseMax, s.faults.Late, s.faults.LateMax = p.pause, 3*lease, p.late, 2*lease
	if p.joint {
		s.faults.Silence = lease / 2
	}
	if p.unheard > 0 {
		s.faults.Worse = map[string]float64{"commit": p.unheard}
	}
	s.luck = &luck{World: s.w}
	s.settleNextDoor()
	for _, of := range s.tenants() {
		of.watched, of.referee, of.follower = watch(of), newReferee(of), of.follow()
		of.cast, of.receivers = newCast(of), newReceivers(of)
	}
	store, queue := sim.Store{Inner: s.store(), Faults: s.faults, Lose: s.w.Lose, Recorded: casts{s}.recorded, Joint: s.joint(), Earlier: s.earlier()}, sim.Queue{Inner: s.bell, Faults: s.faults, Lose: s.w.Lose}
	front := desk{query.New(frontend.New(frontend.Options{Store: store, Catalog: casts{s}, Waker: queue, Clock: s.wrongClock(), Random: s.luck,
		Limits: frontend.Limits{Inline: 300, Pages: inNobodysWay}, Starters: s.Starters, Accepts: casts{s}.Accepts, Links: linkRecords{}}))}
	for i := range p.workers {
		clock := s.wrongClock()
		w := &worker{s: s, clock: clock, store: store, queue: queue}
		w.engine = engine.New(engine.Options{Store: store, Earlier: store, Waker: queue, Agents: casts{s}, Clock: clock, Random: s.w,
			Lease: lease, Margin: margin, Skew: skew, Grain: sweepPeriod, Limits: p.limits, Subscribers: casts{s}, Lines: store, Control: casts{s}, Newest: newest{s, store}, Scheduler: s.w})
		w.deliverer = delivery.New(delivery.Options{Lines: store, Journal: store, Endpoints: casts{s}, Waker: queue, Clock: clock, Random: s.w,
			Bound: p.bound(), Lease: lease, Margin: margin, Skew: skew, Grain: sweepPeriod})
		s.w.Daemon(ctx, fmt.Sprintf("worker %d", i), w.work)
	}
	for range max(p.sweeps, 1) {
		s.w.Daemon(ctx, "a sweep", func(ctx context.Context) {
			if p.sweeps == 0 {
				// callers who insist would wait for ever without one
				_ = s.w.Sleep(ctx, noSweep)
			}
			s.sweep(ctx, store, queue, p.period)
		})
	}
	if p.crowded {
		s.w.Daemon(ctx, "an operator", s.operate)
	}
	s.lastSweep = func() {
		s.w.Daemon(ctx, "the last sweep", func(ctx context.Context) { s.sweep(ctx, store, queue, sweepPeriod) })
	}
	for _, of := range s.tenants() {
		of.front = front
		of.callers(ctx)
	}
	s.w.Go(ctx, "the end", s.settle)
}

// joint is the queue where it shares the store's writes.
func (s *stage) joint() sim.Joint {
	if s.plan.joint {
		return s.bell
	}
	return nil
}

// earlier is the table, which has eventually consistent reads.
func (s *stage) earlier() engine.Earlier {
	if s.table != nil {
		return s.table
	}
	return nil
}

// inNobodysWay: readers that waited for one another would do so outside of this world, which then
// stands still.
const inNobodysWay = 1 << 20

// wrongClock is off by as much as the plan has it.
func (s *stage) wrongClock() *skewed {
	clock := &skewed{World: s.w}
	if s.plan.skew > 0 {
		clock.usual = s.w.Upto(2*s.plan.skew) - s.plan.skew
	}
	return clock
}
