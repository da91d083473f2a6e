package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
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

// Ride implements [sim.Joint], if the queue does.
func (b *bell) Ride(ctx context.Context, req engine.CommitRequest, landed engine.Written, claim func() (core.Head, error)) (engine.Written, error) {
	w, err := landed, error(nil)
	if !b.Itself() {
		w, err = b.FullQueue.(sim.Joint).Ride(ctx, req, landed, claim)
	}
	switch {
	case w.Next != nil:
		b.ringIn(visibility)
	case req.Wake != nil:
		b.ringIn(req.Wake.For)
	}
	return w, err
}

// onlooker sees claims that SQLite makes as it hands out their messages.
type onlooker interface {
	took(ctx context.Context, req engine.ClaimRequest, taken engine.Taken)
}

// Take implements [sim.Joint].
func (b *bell) Take(ctx context.Context, of sim.FullStore, claim func(engine.Wakeup) engine.ClaimRequest) (taken engine.Taken, err error) {
	if !b.Itself() {
		taken, err = b.FullQueue.(sim.Joint).Take(ctx, of, claim)
	} else {
		var req engine.ClaimRequest
		taken, _, err = b.FullQueue.(*sqlite.DB).TakeFor(ctx, everyPlace{}, func(w engine.Wakeup) *engine.ClaimRequest {
			req = claim(w)
			return &req
		})
		if err == nil && taken.Head.Thread != "" {
			of.(onlooker).took(ctx, req, taken)
		}
	}
	if taken.ID != "" {
		b.ringIn(visibility)
	}
	return taken, err
}

// everyPlace has room for every message.
type everyPlace struct{}

func (everyPlace) Take(string) bool { return true }
func (everyPlace) Free(string)      {}

// Itself says whether the queue is a store, as [sqlite.DB] is.
func (b *bell) Itself() bool {
	_, itself := b.FullQueue.(engine.Store)
	return itself
}

func (b *bell) Held(receipt string, w engine.Wakeup) engine.Delivery {
	return b.FullQueue.(sim.Joint).Held(receipt, w)
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
	t, some, err := w.queue.Take(ctx, w.store, w.engine.ClaimFor)
	if err != nil || !some {
		return false
	}
	for next := &t; next != nil; {
		next = w.handle(inTenant(ctx, next.Tenant), *next)
	}
	return true
}

// handle does what a message is for and settles it, as the embedded server does.
func (w *worker) handle(ctx context.Context, t engine.Taken) (next *engine.Taken) {
	var report engine.Report
	var err error
	if t.Endpoint != "" {
		_, err = w.deliverer.Deliver(ctx, t.Wakeup)
	} else {
		report, err = w.engine.StepFor(ctx, t, func() bool { return w.s.w.Chance(0.9) })
	}
	switch {
	case err != nil:
		if !errors.Is(err, engine.ErrUnavailable) && err.Error() != leaseOver {
			w.s.wrong("a step failed: %v", err)
		}
		_ = w.queue.Nack(ctx, t.Delivery, time.Second, err.Error())
		return nil
	case !report.Settled:
		_ = w.queue.Ack(ctx, t.Delivery)
	case report.Next != nil:
		w.s.faults.Counts["went on"]++
	}
	return report.Next
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
