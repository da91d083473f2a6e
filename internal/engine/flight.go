package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// flight are the bodies that an activation has begun, under one watch, until all have ended. It outlives commits: a decision that comes
// while bodies run is committed beside them.
//
//	activation   begin A, B ── await ──────┐ plan ── commit the decision ── begin C ── await ──┐ plan
//	A            ──────── ended            │                                                   │
//	B            ──────────────────────────┼──────────────────────────────────────────── ended │
//	C                                      │                                      ────── ended │
//	watch               sees a decision ───┘                       all have ended ─────────────┘
//
// What is in the view belongs to the activation alone: outcomes get there when it has awaited.
type flight struct {
	a        *activation
	ctx      context.Context
	watch    *watch
	parallel bool // a decision is applied beside the bodies, and not behind them

	mu      sync.Mutex
	bodies  []*bodyInFlight // in the order they began
	running int             // how many of them have not ended
	news    bool            // there is something to commit while others run: a decision, or what an at-most-once body came to
	early   bool            // news wakes the activation
	wake    chan struct{}
}

// bodyInFlight is one body of a flight.
type bodyInFlight struct {
	core.InFlight
	call  core.ToolCall
	once  bool // at most once: what it came to is committed before the others end
	began int64
	got   answer[ran]
}

func newFlight(ctx context.Context, a *activation) *flight {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{a: a, ctx: ctx, parallel: a.view.Rules.Terms().Parallel}
	f.watch = &watch{a: a, head: a.view.Head, ctx: ctx, cancel: cancel}
	f.watch.ticked = f.ticked
	f.watch.start()
	return f
}

// begin runs a body in a goroutine of its own.
func (f *flight) begin(run core.BodyRun, b body) {
	one := &bodyInFlight{InFlight: core.InFlight{CallID: run.Call.ID, Saw: f.a.outcomes}, call: run.Call, once: run.AtMostOnce, began: f.a.now()}
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
	if one.once && !f.runs(func(other *bodyInFlight) bool { return other.once }) {
		f.news = true
	}
	if f.running == 0 || f.early && f.news {
		f.ring()
	}
}

// runs says whether some body runs that is so.
func (f *flight) runs(so func(*bodyInFlight) bool) bool {
	return slices.ContainsFunc(f.bodies, func(one *bodyInFlight) bool { return !one.got.there && so(one) })
}

// ticked is called at each look of the watch. Outcomes of at-most-once bodies wait no longer for one another: until they are committed, a crash
// makes each of them a question to a person.
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

// next is closed when all bodies have ended, and with early also when a decision comes.
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

// await waits for bodies in flight: until all have ended, or there is a decision to apply beside them. What ended counts, also if it ended
// late; what was stopped from outside, or does not stop, is said to be interrupted.
func (a *activation) await(ctx context.Context) error {
	return a.awaitFrom(ctx, a.rest())
}

// awaitFrom is await for an activation that has given its slot up, and takes it again with back.
func (a *activation) awaitFrom(ctx context.Context, back func()) error {
	f := a.flight
	a.e.o.Scheduler.Await(f.next(true), f.ctx.Done())
	if f.ctx.Err() != nil {
		f.grace()
	}
	back()
	return f.collect(ctx)
}

// stop ends the bodies in flight, because of cause.
func (a *activation) stop(ctx context.Context, cause error) error {
	f := a.flight
	f.watch.cancel(cause)
	back := a.rest()
	f.grace()
	back()
	return f.collect(ctx)
}

// grace waits a while for bodies that were asked to stop.
func (f *flight) grace() {
	left := make(chan struct{})
	defer f.a.e.o.Clock.AfterFunc(f.a.e.o.Margin/2, func() { close(left) })()
	f.a.e.o.Scheduler.Await(f.next(false), left)
}

// collect takes the outcomes that have come into the view, and what the watch has seen. An error gives the activation up.
func (f *flight) collect(ctx context.Context) error {
	a := f.a
	for _, one := range f.collected() {
		a.outcomes++
		o := core.BodyOutcome{CallID: one.CallID, Nth: a.outcomes, Saw: one.Saw}
		out := one.got.v
		if out.began == 0 {
			out.began = one.began
		}
		if err := a.came(ctx, &o, out, one.got.err); err != nil {
			return err
		}
		a.view.Outcomes = append(a.view.Outcomes, o)
		a.view.InFlight = slices.DeleteFunc(slices.Clone(a.view.InFlight), func(i core.InFlight) bool { return i.CallID == one.CallID })
	}
	if len(a.view.InFlight) == 0 {
		a.flight = nil
		f.watch.end()
	}
	f.watch.report()
	return nil
}

// collected takes the bodies off that have ended; once they were asked to stop, all.
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

// unsaid are the starts of the bodies that run, as far as no commit contains them, in the order they began.
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

// abandon leaves bodies behind that are still in flight when the activation is given up.
func (a *activation) abandon(err error) {
	if f := a.flight; f != nil {
		f.watch.cancel(err)
		defer a.rest()()
		f.grace()
	}
}

// endFlight ends what watches bodies in flight.
func (a *activation) endFlight() {
	if a.flight != nil {
		a.flight.watch.end()
		a.flight = nil
	}
}
