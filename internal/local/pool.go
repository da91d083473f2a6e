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
	"github.com/dormouse-dev/dormouse/internal/sqlite"
)

// idle is how long a worker waits before it looks for messages of other processes. Those of this process wake it at once.
const idle = 100 * time.Millisecond

// giveBack is how long a message that could not be worked on stays away.
const giveBack = 2 * time.Second

// pool stands in for the function platform: it takes one message after the other and does one step for each. A step computes with
// a slot and waits without one, so that as many steps as there are workers compute, while many more wait for tools and the model.
type pool struct {
	workers int
	slots   *slots
	places  *places
	queue   queue
	engine  *engine.Engine
	clock   engine.Clock
	arrived <-chan struct{}
	log     *slog.Logger
}

// queue is what the pool takes its messages from.
type queue interface {
	engine.Receiver

	// ReceiveFor hands out one message, of the tenant whose turn it is among those that have a place.
	ReceiveFor(ctx context.Context, p sqlite.Places) (d engine.Delivery, some bool, err error)
}

// run works until taking ends; steps at hand are finished, in the context work.
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
	d, some, err := p.queue.ReceiveFor(work, p.places)
	if err != nil {
		p.log.Warn("receiving failed", "error", err)
	}
	if !some {
		p.slots.GiveUp(newcomers)
		return false
	}
	steps.Go(func() {
		defer p.places.Free(d.Tenant)
		defer p.slots.GiveUp(d.Tenant)
		p.handle(work, d)
	})
	return true
}

func (p *pool) handle(ctx context.Context, d engine.Delivery) {
	err := p.step(ctx, d.Wakeup)
	if err != nil {
		err = p.queue.Nack(ctx, d, giveBack, err.Error())
	} else {
		err = p.queue.Ack(ctx, d)
	}
	if err != nil {
		p.log.Debug("a message will come again", "thread", d.Thread, "error", err)
	}
}

// step turns a panic into an error, so that one broken run costs its message an attempt and not the process.
func (p *pool) step(ctx context.Context, w engine.Wakeup) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("a step panicked", "thread", w.Thread, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("the step panicked")
		}
	}()
	_, err = p.engine.Step(ctx, w)
	return err
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

// reminder sends the sweep's wake-ups: those of threads that somebody is about to wake anyway are left out.
type reminder struct{ queue *sqlite.DB }

func (r reminder) Send(ctx context.Context, w engine.Wakeup, _ time.Duration) error {
	return r.queue.Remind(ctx, w)
}

// sweep wakes what is due, every period, until ctx ends. No failure ends it: without it a lost wake-up, a lost owner and a far deadline
// stay unnoticed until the server is started again.
type sweep struct {
	store  engine.Overdue
	waker  engine.Waker
	clock  engine.Clock
	period time.Duration
	log    *slog.Logger
}

func (s *sweep) run(ctx context.Context) {
	for {
		err := engine.Sweep(ctx, s.store, s.waker, s.clock, s.period)
		if failed, ok := errors.AsType[*engine.SweepError](err); ok && ctx.Err() == nil {
			failed.Log(s.log)
		}
		if engine.Sleep(ctx, s.clock, s.period) != nil {
			return
		}
	}
}
