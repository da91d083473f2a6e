package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// flight is the set of bodies that an activation has begun, with one watch, until all have ended.
// It spans commits: a decision that arrives while bodies run is committed beside them.
//
//	activation   begin A, B ── await ───┐ plan ── commit it ── begin C ── await ──┐ plan
//	A            ──────── ended         │                                         │
//	B            ───────────────────────┼───────────────────────────────── ended  │
//	C                                   │                           ────── ended  │
//	watch            sees a decision ───┘          all have ended ────────────────┘
//
// Only the activation changes the view; it adds the outcomes after each await.
type flight struct {
	a        *activation
	ctx      context.Context
	watch    *watch
	parallel bool // a decision is applied beside the bodies, not after them

	mu      sync.Mutex
	bodies  []*bodyInFlight // in the order they began
	running int             // how many of them have not ended
	// there is something to commit while others run: a decision, or the outcome of an
	// at-most-once body
	news  bool
	early bool // news wakes the activation
	wake  chan struct{}
}

// bodyInFlight is one body of a flight.
type bodyInFlight struct {
	plans.InFlight
	call  core.ToolCall
	once  bool // at most once: its outcome is committed before the others end
	began int64
	got   answer[ran]
}

func newFlight(ctx context.Context, a *activation) *flight {
	f := &flight{a: a, parallel: a.view.Rules.Terms().Parallel}
	f.watch = startWatch(ctx, a, f.ticked)
	f.ctx = f.watch.ctx
	return f
}

// begin runs a body in a goroutine of its own.
func (f *flight) begin(run plans.BodyRun, b body) {
	one := &bodyInFlight{InFlight: plans.InFlight{CallID: run.Call.ID, Saw: f.a.outcomes}, call: run.Call, once: run.AtMostOnce, began: f.a.now()}
	f.mu.Lock()
	f.bodies = append(f.bodies, one)
	f.running++
	f.mu.Unlock()
	f.a.view.InFlight = append(f.a.view.InFlight, one.InFlight)
	f.a.e.o.Scheduler.Spawn(func() {
		got := answer[ran]{err: errNoAnswer, there: true}
		defer func() { f.ended(one, got) }()
		got.v, got.err = guarded(f.ctx, f.a, b)
		got.err = f.watch.cause(got.err)
	})
}

func (f *flight) ended(one *bodyInFlight, got answer[ran]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.got = got
	f.running--
	if one.once && !slices.ContainsFunc(f.bodies, func(other *bodyInFlight) bool { return other.once && !other.got.there }) {
		f.news = true
	}
	if f.running == 0 || f.early && f.news {
		f.ring()
	}
}

// ticked is called at each look of the watch. An outcome of an at-most-once body waits for other
// such bodies until the next look, and no longer: a crash before its commit makes it a question to
// a person.
func (f *flight) ticked(decided bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	came := slices.ContainsFunc(f.bodies, func(one *bodyInFlight) bool { return one.got.there && one.once })
	f.news = f.news || came || decided && f.parallel
	if f.early && f.news {
		f.ring()
	}
}

func (f *flight) ring() {
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// next is closed when all bodies have ended; with early, also when there is something to commit
// beside those that run.
func (f *flight) next(early bool) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake := make(chan struct{})
	f.wake, f.early = wake, early
	if f.running == 0 || early && f.news {
		f.ring()
	}
	return wake
}

// await waits until all bodies in flight have ended, or there is something to commit beside them.
// An outcome counts even if it is late; a body that was stopped from outside, or does not stop,
// counts as interrupted.
func (a *activation) await(ctx context.Context) error {
	return a.awaitFrom(ctx, a.rest())
}

// awaitFrom is await for an activation that has given its slot up, and takes it again with back.
func (a *activation) awaitFrom(ctx context.Context, back func()) error {
	f := a.flight
	a.e.o.Scheduler.Await(f.next(true), f.ctx.Done())
	if f.ctx.Err() != nil {
		a.grace(f.next(false))
	}
	back()
	return f.collect(ctx)
}

// stop ends the bodies in flight, because of cause.
func (a *activation) stop(ctx context.Context, cause error) error {
	f := a.flight
	f.watch.cancel(cause)
	back := a.rest()
	a.grace(f.next(false))
	back()
	return f.collect(ctx)
}

// collect takes new outcomes, and what the watch has seen, into the view. An error gives the
// activation up.
func (f *flight) collect(ctx context.Context) error {
	a := f.a
	for _, one := range f.collected() {
		a.outcomes++
		o := plans.BodyOutcome{CallID: one.CallID, Nth: a.outcomes, Saw: one.Saw}
		out := one.got.v
		if out.began == 0 {
			out.began = one.began
		}
		if err := a.recordOutcome(ctx, &o, out, one.got.err); err != nil {
			return err
		}
		a.view.Outcomes = append(a.view.Outcomes, o)
		a.view.InFlight = slices.DeleteFunc(slices.Clone(a.view.InFlight), func(i plans.InFlight) bool { return i.CallID == one.CallID })
	}
	if len(a.view.InFlight) == 0 {
		a.flight = nil
		f.watch.end()
	}
	f.watch.report()
	return nil
}

// collected removes the bodies that have ended from the flight; once they were asked to stop, all
// of them.
func (f *flight) collected() (done []bodyInFlight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = false
	over := f.ctx.Err() != nil
	f.bodies = slices.DeleteFunc(f.bodies, func(one *bodyInFlight) bool {
		if !one.got.there && !over {
			return false
		}
		if !one.got.there {
			one.got.err = context.Cause(f.ctx) // it did not stop in time
		}
		done = append(done, *one)
		return true
	})
	return done
}

// unsaid are the starts that no commit contains, of the bodies that run, in the order they began.
func (f *flight) unsaid(h core.Head) (starts []Note) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.bodies {
		if !one.got.there && h.Calls[one.CallID].Status != core.CallRunning {
			starts = append(starts, Note{Call: one.call, At: one.began})
		}
	}
	return starts
}

// abandon stops bodies that are still in flight when the activation is given up. It does not wait
// for those that don't stop.
func (a *activation) abandon(err error) {
	if f := a.flight; f != nil {
		f.watch.cancel(err)
		defer a.rest()()
		a.grace(f.next(false))
	}
}

// endFlight ends the watch over bodies in flight.
func (a *activation) endFlight() {
	if a.flight != nil {
		a.flight.watch.end()
		a.flight = nil
	}
}
