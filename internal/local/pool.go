package local

import (
	"context"
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

// pool stands in for the function platform: each worker takes one message, does one step, and nothing in between.
type pool struct {
	workers int
	queue   engine.Receiver
	engine  *engine.Engine
	clock   engine.Clock
	arrived <-chan struct{}
	log     *slog.Logger
}

// run works until taking ends; steps at hand are finished, in the context work.
func (p *pool) run(taking, work context.Context) {
	var wg sync.WaitGroup
	for range p.workers {
		wg.Go(func() {
			for taking.Err() == nil {
				if !p.once(work) {
					p.wait(taking)
				}
			}
		})
	}
	wg.Wait()
}

// once takes one message and does its step. It says whether there was one.
func (p *pool) once(ctx context.Context) bool {
	got, err := p.queue.Receive(ctx, 1)
	if err != nil {
		p.log.Warn("receiving failed", "error", err)
		return false
	}
	for _, d := range got {
		p.handle(ctx, d)
	}
	return len(got) > 0
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
	}
}

// reminder sends the sweep's wake-ups: those of threads that somebody is about to wake anyway are left out.
type reminder struct{ queue *sqlite.DB }

func (r reminder) Send(ctx context.Context, w engine.Wakeup, _ time.Duration) error {
	return r.queue.Remind(ctx, w)
}

// sweep wakes what is due, every period, until ctx ends.
type sweep struct {
	store  engine.Overdue
	waker  engine.Waker
	clock  engine.Clock
	period time.Duration
	log    *slog.Logger
}

func (s *sweep) run(ctx context.Context) {
	for {
		if err := engine.Sweep(ctx, s.store, s.waker, s.clock, s.period); err != nil && ctx.Err() == nil {
			s.log.Warn("the sweep failed; the next one goes on", "error", err)
		}
		if engine.Sleep(ctx, s.clock, s.period) != nil {
			return
		}
	}
}
