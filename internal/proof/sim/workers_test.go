package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

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
	if d > 0 { // whoever sent it may be gone by then
		b.w.Daemon(context.Background(), "the bell", func(ctx context.Context) {
			_ = b.w.Sleep(ctx, d)
			b.ringIn(0)
		})
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
	s         *stage
	clock     *skewed
	store     sim.Store
	queue     sim.Queue
	engine    *engine.Engine
	deliverer *delivery.Deliverer
}

// work takes one message after the other. When its process is lost, another one takes its place a
// little later: also when a timer that the lost one left behind takes that one with it.
func (w *worker) work(ctx context.Context) {
	for {
		w.tick()
		lost := survive(func() {
			if !w.once(ctx) {
				w.s.w.Await(w.s.bell.next(), nil)
			}
		})
		for lost {
			lost = survive(func() { _ = w.s.w.Sleep(ctx, 200*time.Millisecond+w.s.w.Upto(time.Second)) })
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
	if err := w.handle(inTenant(ctx, got[0].Tenant), got[0].Wakeup); err != nil {
		if !errors.Is(err, engine.ErrUnavailable) && err.Error() != leaseOver {
			w.s.wrong("a step failed: %v", err)
		}
		_ = w.queue.Nack(ctx, got[0], time.Second, err.Error())
		return true
	}
	_ = w.queue.Ack(ctx, got[0])
	return true
}

func (w *worker) handle(ctx context.Context, of engine.Wakeup) (err error) {
	if of.Endpoint != "" {
		_, err = w.deliverer.Deliver(ctx, of)
		return err
	}
	_, err = w.engine.Step(ctx, of)
	return err
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
		survive(func() { _ = sweeper.Sweep(ctx, store, queue, s.w, period) })
		_ = s.w.Sleep(ctx, period)
	}
}
