package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Options are an engine's surroundings. Store, Waker, Agents, Clock and Random are required.
type Options struct {
	Store    Store
	Waker    Waker
	Agents   Agents
	Clock    Clock
	Random   Random
	Notifier Notifier   // nil: nobody is told of suspensions
	Control  RunControl // nil: no run yields for it, and nothing but a stored cancel cancels
	Newest   Newest     // nil: no run makes way for newer ones
	Live     Live       // nil: nobody looks on while a model speaks
	Logger   *slog.Logger

	// Lease is how long one activation may take, where the context of a step has no deadline; one that has says it by that. Margin of it
	// is kept for writing down what was done: bodies and model calls are stopped when it begins.
	Lease, Margin time.Duration

	// Skew is how much longer others wait before they take a claim over: what clocks may differ by.
	Skew time.Duration

	// Grain is what the due time of a claimed run is rounded up to, so that the index changes seldom. Recovery after a
	// crash takes up to Lease + Grain.
	Grain time.Duration

	// Patience is how long a request that the store does not answer is sent again before the step is given up: an owner that lives
	// need not wait for its own lease to end. Zero: a few times, for less than a second.
	Patience time.Duration

	// Watch is how often a cancel is looked for while a body or the model runs.
	Watch time.Duration

	Limits core.Limits

	Scheduler Scheduler // nil: goroutines
	Slots     Slots     // nil: there is no bound on how many activations compute at once
	Tracer    Tracer    // nil: nothing is traced
}

// Engine does steps. Safe for concurrent use.
type Engine struct{ o Options }

// New fills in what o leaves open: a lease of 2 minutes, a margin of 10 s, a grain of 5 s, a watch of 1 s, the default limits.
func New(o Options) *Engine {
	o.Lease = orDefault(o.Lease, 2*time.Minute)
	o.Margin = orDefault(o.Margin, 10*time.Second)
	o.Grain = orDefault(o.Grain, 5*time.Second)
	o.Watch = orDefault(o.Watch, time.Second)
	o.Limits = orDefault(o.Limits, core.DefaultLimits)
	if o.Scheduler == nil {
		o.Scheduler = goroutines{}
	}
	if o.Tracer == nil {
		o.Tracer = untraced{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{o}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Outcome says how a step ended.
type Outcome string

const (
	Dropped  Outcome = "dropped"  // there was nothing to claim: the wake-up was stale, or somebody else has the run
	Released Outcome = "released" // the step was done and the claim given up
	Fenced   Outcome = "fenced"   // another owner took over; nothing of what was not committed counts
)

// Report is what a step did. Of one that was dropped, only the outcome and the thread are known.
type Report struct {
	Outcome Outcome
	Thread  string
	Run     string
	Step    int
	Epoch   int64
	Attempt int            // claims since the last commit before, this one included
	Status  core.RunStatus // after the release
	End     *core.Reason   // why the run ended, if it did
	Commits int
	Asked   bool // the model was called
	Bodies  int  // tool bodies run

	InputTokens, OutputTokens int64 // that the model said it used

	TookOver bool          // whoever had the run before was lost
	Waited   time.Duration // how long the run had slept when it was claimed; 0 if it had not
}

// ErrNoTime: too little of the context's time is left to begin an activation, so nothing was claimed.
var ErrNoTime = errors.New("engine: too little time is left for a step")

// Step works on the thread a wake-up names: claim, one step, release. A nil error means that the message can be deleted,
// whatever the outcome. An error means that it should be delivered again later; nothing is lost if it is not, since the sweep
// finds what is due. The deadline of ctx, if it has one, is read on the engine's clock.
func (e *Engine) Step(ctx context.Context, w Wakeup) (Report, error) {
	until, err := e.until(ctx)
	if err != nil {
		return Report{Thread: w.Thread}, err
	}
	head, err := e.claim(ctx, w, until)
	switch {
	case errors.Is(err, ErrRefused):
		return Report{Outcome: Dropped, Thread: w.Thread}, nil
	case err != nil:
		return Report{Thread: w.Thread}, fmt.Errorf("claiming %s: %w", w.Thread, err)
	}
	a := newActivation(e, head)
	defer a.endLive()
	defer a.endFlight()
	log := e.o.Logger.With("run", head.Run, "thread", head.Thread, "step", head.Step, "epoch", head.Epoch, "attempt", head.Tries)
	err = a.work(ctx)
	a.abandon(err)
	a.account(head)
	switch {
	case errors.Is(err, ErrFenced):
		log.Info("another owner took the run over")
		a.report.Outcome = Fenced
		return a.report, nil
	case err != nil:
		log.Warn("step given up", "error", err)
		return a.report, err
	}
	a.report.Outcome = Released
	log.Debug("step done", "status", a.report.Status, "commits", a.report.Commits, "bodies", a.report.Bodies)
	return a.report, nil
}

// until is when an activation that begins now must be over. One that had less time to work than is kept for writing down would only come
// again.
func (e *Engine) until(ctx context.Context) (time.Time, error) {
	now := e.o.Clock.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		return now.Add(e.o.Lease), nil
	}
	if deadline.Sub(now) < 2*e.o.Margin {
		return time.Time{}, ErrNoTime
	}
	return deadline, nil
}

// claim makes one claim. Its id is fresh for each call: two deliveries of one message must never count as one claim, or both
// workers would own the run under one epoch.
func (e *Engine) claim(ctx context.Context, w Wakeup, until time.Time) (core.Head, error) {
	end := until.Add(e.o.Skew).UnixMilli()
	grain := e.o.Grain.Milliseconds()
	req := ClaimRequest{Tenant: w.Tenant, Thread: w.Thread, Claim: e.o.Random.Text(20), Now: e.o.Clock.Now().UnixMilli(), LeaseEnd: end,
		Due: (end + grain - 1) / grain * grain, Schema: core.SchemaVersion}
	return traced(ctx, e, "claim", func(ctx context.Context) (core.Head, error) {
		return retrying(ctx, e, func() (core.Head, error) { return e.o.Store.Claim(ctx, req) })
	})
}

// retries are the pauses before a request is sent again; the same request, so that sending it twice has the effect of once.
// patientPause is each one after those, jittered, until the patience has run out.
var retries = []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}

const patientPause = 2 * time.Second

// retrying repeats f while it answers [ErrUnavailable] and that may pass.
func retrying[T any](ctx context.Context, e *Engine, f func() (T, error)) (T, error) {
	return retryingFor(ctx, e, e.o.Patience, f)
}

// retryingFor is retrying with a patience of its own.
func retryingFor[T any](ctx context.Context, e *Engine, patience time.Duration, f func() (T, error)) (T, error) {
	began := e.o.Clock.Now()
	for n := 0; ; n++ {
		v, err := f()
		if !errors.Is(err, ErrUnavailable) || Lasting(err) || n >= len(retries) && e.o.Clock.Now().Sub(began) >= patience {
			return v, err
		}
		pause := patientPause
		if n < len(retries) {
			pause = retries[n]
		} else {
			pause = Jitter(e.o.Random, pause)
		}
		if err := Sleep(ctx, e.o.Clock, pause); err != nil {
			return v, err
		}
	}
}

// Sleep waits for d on c, or until ctx ends, whose error it then returns. A clock that has its own way to sleep (a virtual one, which
// must know who sleeps) is asked to.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if own, ok := c.(interface {
		Sleep(context.Context, time.Duration) error
	}); ok {
		return own.Sleep(ctx, d)
	}
	woken := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(woken) })
	defer stop()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Jitter is between half of whole and all of it, so that many that failed together do not come again together.
func Jitter(r Random, whole time.Duration) time.Duration {
	n := 0
	for _, letter := range r.Text(2) {
		n = n*32 + int(letter)%32
	}
	return whole/2 + whole/2*time.Duration(n%1024)/1024
}
