package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// idle is how long a worker waits before it looks for messages of other processes. Those of this
// process wake it at once.
const idle = 100 * time.Millisecond

// giveBack is how long a message that could not be worked on stays away.
const giveBack = 2 * time.Second

// pool stands in for the function platform: it takes one message after the other and does one step
// for each. A step computes with a slot and waits without one, so that as many steps as there are
// workers compute, while many more wait for tools and the model.
type pool struct {
	workers int
	slots   *slots
	places  *places
	queue   queue
	engine  *engine.Engine
	clock   engine.Clock
	offset  func() time.Duration // of the wall clock, see [steps]
	arrived <-chan struct{}
	log     *slog.Logger

	deliveries *deliveries

	mu   sync.Mutex
	busy map[engine.Wakeup]working
}

// queue is what the pool takes its messages from.
type queue interface {
	engine.Receiver

	// TakeFor hands out one message, of the tenant whose turn it is among those that have a
	// place, and claims its run if claim returns a claim for it.
	TakeFor(ctx context.Context, p sqlite.Places, claim func(engine.Wakeup) *engine.ClaimRequest) (t engine.Taken, some bool, err error)
}

// run works until taking ends. Steps in progress finish, in the context work.
func (p *pool) run(taking, work context.Context) {
	var wg sync.WaitGroup
	for range p.workers {
		wg.Go(func() {
			for taking.Err() == nil {
				if !p.once(taking, work, &wg) {
					p.wait(taking)
				}
			}
		})
	}
	wg.Wait()
}

// once takes one message and begins its step. It says whether there was one.
func (p *pool) once(taking, work context.Context, steps *sync.WaitGroup) bool {
	if !p.slots.enter(taking, newcomers) {
		return false
	}
	t, some, err := p.queue.TakeFor(work, p.places, p.claim)
	if err != nil {
		p.log.Warn("receiving failed", "error", err)
	}
	if !some {
		p.slots.GiveUp(newcomers)
		return false
	}
	if t.Endpoint != "" {
		p.slots.GiveUp(newcomers)
		p.places.Free(t.Tenant)
		p.deliver(work, t.Delivery, steps)
		return true
	}
	steps.Go(func() {
		defer p.places.Free(t.Tenant)
		defer p.slots.GiveUp(t.Tenant)
		for next := &t; next != nil; {
			next = p.handle(work, *next, func() bool { return taking.Err() == nil })
		}
	})
	return true
}

// claim is the claim for a message that is being received; nil if its thread must not be claimed.
func (p *pool) claim(w engine.Wakeup) *engine.ClaimRequest {
	if !p.mayBegin(w) {
		return nil
	}
	req := p.engine.ClaimFor(w)
	return &req
}

// deliver acknowledges the wake-up of a line, then works on the line beside the steps. Should the
// process end in between, the line is still due.
func (p *pool) deliver(work context.Context, d engine.Delivery, steps *sync.WaitGroup) {
	begun := p.deliveries.begin(d.Wakeup)
	steps.Go(func() {
		p.settle(work, d, func() error { return p.queue.Ack(work, d) })
		if begun {
			p.deliveries.deliver(work, d.Wakeup)
		}
	})
}

// handle does the step of a message and settles it, unless the step's release has. It returns the
// run's next step if the release has claimed that.
func (p *pool) handle(ctx context.Context, t engine.Taken, goesOn func() bool) (next *engine.Taken) {
	d := t.Delivery
	if t.Head.Thread == "" && !p.mayBegin(d.Wakeup) {
		p.settle(ctx, d, func() error { return p.queue.Nack(ctx, d, awayWhileBusy, "its owner is at work") })
		return nil
	}
	p.begin(d.Wakeup)
	report, err := p.step(ctx, t, goesOn)
	p.end(d.Wakeup)
	switch {
	case err != nil:
		p.settle(ctx, d, func() error { return p.queue.Nack(ctx, d, giveBack, err.Error()) })
		return nil
	case !report.Settled:
		p.settle(ctx, d, func() error { return p.queue.Ack(ctx, d) })
	}
	return report.Next
}

// awayWhileBusy is how long a message stays away whose thread is at work: less often than it would
// be buried during a lease.
const awayWhileBusy = 15 * time.Second

// mayBegin reports whether the thread may be claimed: no step of it is in progress, or the clock
// was not set since that one began. If it was, the lease of that step looks as if it were over, and
// it is not.
//
//	step: claims for 2 minutes ── the clock goes an hour ahead ─────────── works
//	another worker:                                            must not claim
func (p *pool) mayBegin(w engine.Wakeup) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.busy[w]
	return at.steps == 0 || (p.offset()-at.offset).Abs() < leastStep
}

// begin notes that a step of the thread is in progress.
func (p *pool) begin(w engine.Wakeup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.busy[w]
	if at.steps == 0 {
		at.offset = p.offset()
	}
	at.steps++ // several: the claim of all but one is refused
	if p.busy == nil {
		p.busy = map[engine.Wakeup]working{}
	}
	p.busy[w] = at
}

// working is a thread with steps in progress.
type working struct {
	steps  int
	offset time.Duration // of the clock when the first began
}

func (p *pool) end(w engine.Wakeup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.busy[w]
	if at.steps--; at.steps == 0 {
		delete(p.busy, w)
		return
	}
	p.busy[w] = at
}

// settlePauses are the pauses before a message is settled once more. What is not settled comes
// again when its visibility ends, minutes later.
var settlePauses = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second}

// settle acknowledges a message or gives it back.
func (p *pool) settle(ctx context.Context, d engine.Delivery, do func() error) {
	err := do()
	for _, pause := range settlePauses {
		if !errors.Is(err, engine.ErrUnavailable) || engine.Lasting(err) || engine.Sleep(ctx, p.clock, pause) != nil {
			break
		}
		err = do()
	}
	if err != nil {
		p.log.Debug("a message will come again", "thread", d.Thread, "error", err)
	}
}

// step turns a panic into an error, so that one broken run costs its message an attempt and not the
// process.
func (p *pool) step(ctx context.Context, t engine.Taken, goesOn func() bool) (report engine.Report, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("a step panicked", "thread", t.Thread, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("the step panicked")
		}
	}()
	return p.engine.StepFor(ctx, t, goesOn)
}

func (p *pool) wait(ctx context.Context) {
	woken := make(chan struct{})
	stop := p.clock.AfterFunc(idle, func() { close(woken) })
	defer stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-p.arrived:
	case <-p.places.freed:
	}
}

// reminder sends the sweep's wake-ups, except to threads that already have a wake-up in the queue.
type reminder struct{ queue *sqlite.DB }

func (r reminder) Send(ctx context.Context, w engine.Wakeup, _ time.Duration) error {
	return r.queue.Remind(ctx, w)
}

// sweep wakes what is due, every period, until ctx ends. No failure ends it: without it a lost
// wake-up, a lost owner and a far deadline stay unnoticed until the server is started again.
type sweep struct {
	store  engine.Overdue
	waker  engine.Waker
	clock  engine.Clock
	period time.Duration
	log    *slog.Logger
}

func (s *sweep) run(ctx context.Context) {
	for {
		err := sweeper.Sweep(ctx, s.store, s.waker, s.clock, s.period)
		if failed, ok := errors.AsType[*sweeper.Error](err); ok && ctx.Err() == nil {
			failed.Log(s.log)
		}
		if engine.Sleep(ctx, s.clock, s.period) != nil {
			return
		}
	}
}
