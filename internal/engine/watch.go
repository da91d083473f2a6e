package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
)

// Why a body or a model call was stopped from outside.
var (
	errCancelled = errors.New("the run was cancelled")
	errDeadline  = errors.New("the time of this activation is over")
	errStopping  = errors.New("the run ends")
	errLeaseOver = errors.New("engine: the lease is too near its end to start a body that must not run twice")
)

// timeLeft is how long bodies and the model may still work.
func (a *activation) timeLeft() time.Duration {
	return time.UnixMilli(a.view.Head.Lease).Add(-a.e.o.Skew - a.e.o.Margin).Sub(a.e.o.Clock.Now())
}

// timeUp says whether a new activation should begin the next piece of work: no time is left, or
// this one has worked and less than a quarter of its time is left. One that has done no work yet
// continues, since a new one would have no more time.
func (a *activation) timeUp() bool {
	left := a.timeLeft()
	worked := a.report.Asked || a.report.Bodies > 0
	return left <= 0 || worked && left < (left+a.e.o.Clock.Now().Sub(a.began))/4
}

// watched runs f in a context that ends when the lease is nearly over, when the run is cancelled,
// or when another owner took it. What f has finished counts even if it finished late; an f that
// does not stop is left behind after half the margin.
func watched[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (T, error) {
	defer a.rest()()
	w := startWatch(ctx, a, nil)
	defer w.report()
	defer w.end()

	done, got := beside(w.ctx, a, f)
	a.e.o.Scheduler.Await(done, w.ctx.Done())
	if !isClosed(done) {
		a.grace(done)
	}
	if !isClosed(done) {
		var zero T
		return zero, context.Cause(w.ctx)
	}
	return got.v, w.cause(got.err)
}

// grace waits for done for half the margin: the time to stop that a body or a model has after it
// was asked to.
func (a *activation) grace(done <-chan struct{}) {
	left := make(chan struct{})
	defer a.e.o.Clock.AfterFunc(a.e.o.Margin/2, func() { close(left) })()
	a.e.o.Scheduler.Await(done, left)
}

// answer is the result of a function that ran in its own goroutine.
type answer[T any] struct {
	v     T
	err   error
	there bool
}

// guarded turns a panic of a body or a model into an error without internals; those are for the
// log.
func guarded[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.e.o.Logger.Error("a tool or the model panicked", "panic", p, "stack", string(debug.Stack()))
			err = errors.New("it failed unexpectedly")
		}
	}()
	return f(ctx)
}

// watch looks at the head now and then while something slow runs.
type watch struct {
	a      *activation
	head   core.Head // as it was when the watch began
	ctx    context.Context
	cancel context.CancelCauseFunc

	ticked func(decided bool) // called after each look that changes nothing; may be nil

	mu       sync.Mutex
	stopped  bool
	stopTick func()
	stopEnd  func()
	seen     *core.Head
	outside  bool // [RunControl] cancelled the run
}

// startWatch watches the head that the activation owns until end is called; ticked may be nil.
func startWatch(ctx context.Context, a *activation, ticked func(decided bool)) *watch {
	w := &watch{a: a, head: a.view.Head, ticked: ticked}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopEnd = a.e.o.Clock.AfterFunc(a.timeLeft(), func() { w.cancel(errDeadline) })
	w.stopTick = a.e.o.Clock.AfterFunc(a.e.o.Watch, w.tick)
	return w
}

func (w *watch) tick() {
	now, err := w.a.e.o.Store.Load(w.ctx, w.head.Tenant, w.head.Thread)
	outside := err == nil && now.Epoch == w.head.Epoch && w.a.outsideCancel(w.ctx, w.head)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	switch {
	case err != nil: // look again; the commit decides
	case now.Epoch != w.head.Epoch:
		w.cancel(ErrFenced)
		return
	case outside:
		w.outside = true
		w.cancel(errCancelled)
		return
	default:
		if _, ok := now.Inbox[core.KeyCancel]; ok {
			w.seen = &now
			w.cancel(errCancelled)
			return
		}
		decided := hold.Decided(now, w.a.now())
		if decided {
			w.seen = &now
		}
		if w.ticked != nil {
			w.ticked(decided)
		}
	}
	w.stopTick = w.a.e.o.Clock.AfterFunc(w.a.e.o.Watch, w.tick)
}

// end stops looking.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.stopTick()
	w.stopEnd()
	w.cancel(nil)
}

// report puts what was seen into the view, unless the view has a newer head.
func (w *watch) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &w.a.view
	if w.seen != nil && w.seen.Rev == v.Head.Rev && w.seen.Sigs > v.Head.Sigs {
		v.Head = *w.seen
	}
	w.seen = nil
	v.Cancelled = v.Cancelled || w.outside
}

// outsideCancel asks the engine's owner about the run of a head.
func (a *activation) outsideCancel(ctx context.Context, h core.Head) bool {
	return a.e.o.Control != nil && a.e.o.Control.IsCancelled(ctx, refOf(h))
}

// cause says why f failed: for a reason of its own, or because it was stopped.
func (w *watch) cause(err error) error {
	if err == nil || w.ctx.Err() == nil {
		return err
	}
	if _, cut := errors.AsType[*CutShort](err); cut {
		return &CutShort{context.Cause(w.ctx)}
	}
	return context.Cause(w.ctx)
}
