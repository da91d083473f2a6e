package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine/warm"
)

// Options are an engine's surroundings. Store, Waker, Agents, Clock and Random are required.
type Options struct {
	Store  Store
	Waker  Waker
	Agents Agents
	Clock  Clock
	Random Random

	// Subscribers are notified of events by way of Lines; nil: none are.
	Subscribers Subscribers
	Lines       Lines

	// Announce is called once a call has begun to wait, for the log; nil for none.
	Announce func(WaitingCall)

	// News is the address where an agent elsewhere may say that there is news of the task that
	// a run has given it; nil: there is none, and it is only looked at.
	News func(tenant, run, token string) string

	Earlier Earlier    // nil: journals are always read consistently
	Control RunControl // nil: no run yields for it, and nothing but a stored cancel cancels
	Newest  Newest     // nil: no run makes way for newer ones
	Live    Live       // nil: no live text
	Logger  *slog.Logger

	// Lease is how long one activation may take, where the context of a step has no deadline;
	// one that has says it by that. Margin of it is kept for writing down what was done: bodies
	// and model calls are stopped when it begins.
	Lease, Margin time.Duration

	// Skew is how much longer others wait before they take a claim over: what clocks may differ
	// by.
	Skew time.Duration

	// Grain is what the due time of a claimed run is rounded up to, so that the index changes
	// seldom. Recovery after a crash takes up to Lease + Grain.
	Grain time.Duration

	// Patience is how long a request that the store does not answer is sent again before the
	// step is given up: an owner that lives need not wait for its own lease to end. Zero: a few
	// times, for less than a second.
	Patience time.Duration

	// Watch is how often a cancel is looked for while a body or the model runs.
	Watch time.Duration

	Limits plans.Limits

	// Warm is how many bytes of journals are kept for the next steps of their threads.
	Warm int

	Scheduler Scheduler // nil: goroutines
	Slots     Slots     // nil: there is no bound on how many activations compute at once
	Tracer    Tracer    // nil: nothing is traced
}

// Engine does steps. Safe for concurrent use.
type Engine struct {
	o       Options
	threads *warm.Threads
}

// New fills in what o leaves open: a lease of 2 minutes, a margin of 10 s, a grain of 5 s, a watch
// of 1 s, the default limits, 32 MiB of journals.
func New(o Options) *Engine {
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.Margin = cmp.Or(o.Margin, 10*time.Second)
	o.Grain = cmp.Or(o.Grain, 5*time.Second)
	o.Watch = cmp.Or(o.Watch, time.Second)
	o.Warm = cmp.Or(o.Warm, 32<<20)
	o.Limits = cmp.Or(o.Limits, plans.DefaultLimits)
	if o.Scheduler == nil {
		o.Scheduler = goroutines{}
	}
	if o.Tracer == nil {
		o.Tracer = untraced{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{o, warm.NewThreads(o.Warm)}
}

// Logging returns an engine that writes to another log. It shares what e knows of its threads.
func (e *Engine) Logging(log *slog.Logger, announce func(WaitingCall)) *Engine {
	o := e.o
	o.Logger, o.Announce = log, announce
	return &Engine{o, e.threads}
}

// Step works on the thread of a wake-up: it claims the run, does one step and releases it. A nil
// error means that the caller can delete the message, for every outcome. An error means that the
// queue should deliver it again; if it doesn't, the sweep finds the run. Step compares the deadline
// of ctx, if it has one, with the engine's clock.
func (e *Engine) Step(ctx context.Context, w Wakeup) (Report, error) {
	return e.StepFor(ctx, Taken{Delivery: Delivery{Wakeup: w}}, nil)
}

// StepFor is Step for a delivery, with a store that is the queue as well: the release settles the
// delivery, where the store can do that. If goesOn agrees it also claims the run's next step, which
// the caller has to do then: [Report.Next]. A run that t has claimed is not claimed again, and the
// step takes as long as that lease.
func (e *Engine) StepFor(ctx context.Context, t Taken, goesOn func() bool) (Report, error) {
	head := t.Head
	if head.Thread == "" {
		until, err := e.until(ctx)
		if err != nil {
			return Report{Thread: t.Thread}, err
		}
		if head, err = e.claim(ctx, t.Wakeup, until); errors.Is(err, ErrRefused) {
			return Report{Outcome: Dropped, Thread: t.Thread}, nil
		} else if err != nil {
			return Report{Thread: t.Thread}, e.notClaimed(t.Wakeup, head, err)
		}
	}
	a := newActivation(e, head)
	a.delivery, a.goesOn = t.Delivery, goesOn
	return a.step(ctx)
}

func (e *Engine) notClaimed(w Wakeup, head core.Head, err error) error {
	if errors.Is(err, ErrNewerSchema) {
		e.o.Logger.Warn("a newer version of the program wrote this run; only that version continues it", "run", head.Run,
			"thread", w.Thread, "tenant", w.Tenant, "schema", head.Schema)
	}
	return fmt.Errorf("claiming %s: %w", w.Thread, err)
}

// step is the whole of an activation.
func (a *activation) step(ctx context.Context) (Report, error) {
	e, head := a.e, a.view.Head
	defer a.endLive()
	defer a.endFlight()
	log := e.o.Logger.With("run", head.Run, "thread", head.Thread, "step", head.Step, "epoch", head.Epoch, "attempt", head.Tries)
	err := a.work(ctx)
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
	e.threads.Keep(warm.Key{Tenant: head.Tenant, Thread: head.Thread}, a.thread)
	a.report.Outcome = Released
	log.Debug("step done", "status", a.report.Status, "commits", a.report.Commits, "bodies", a.report.Bodies)
	return a.report, nil
}
