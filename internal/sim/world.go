// Package sim runs workers and callers of one system one at a time on a virtual clock, in an order that a seed decides, and
// injects faults where they touch a store or a queue. The same seed, the same run. It knows the ports of package engine
// and nothing of what is simulated.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// World schedules tasks. Exactly one task runs at a time; it runs until it yields, sleeps or ends. Time moves a little with
// each turn, and jumps to the next sleeper when nobody can run.
type World struct {
	rng    *rand.Rand
	now    time.Time
	tasks  []*task // parked, in the order they were started
	parked chan *task
	alive  int // tasks the world waits for
	stop   bool
	timers []*timer
	turns  int64
}

type task struct {
	name   string
	resume chan struct{}
	wake   time.Time
	daemon bool
	ended  bool

	mu     sync.Mutex
	beside []*task // parts of it that run as tasks of their own
	left   int     // how many of them have not ended
}

type timer struct {
	at time.Time
	f  func()
}

type taskKey struct{}

// ErrStuck: nobody can run and nobody sleeps, yet not all are done.
var ErrStuck = errors.New("sim: every task is blocked")

// NewWorld starts at a fixed time with the choices of seed.
func NewWorld(seed uint64) *World {
	return &World{rng: rand.New(rand.NewPCG(seed, 0x5eed)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), parked: make(chan *task)}
}

// Go starts a task that the world waits for. f's context names the task; whatever f does must carry it.
func (w *World) Go(ctx context.Context, name string, f func(context.Context)) {
	w.start(ctx, name, false, f)
}

// Daemon starts a task that is ended, at its next turn, when all others are done.
func (w *World) Daemon(ctx context.Context, name string, f func(context.Context)) {
	w.start(ctx, name, true, f)
}

func (w *World) start(ctx context.Context, name string, daemon bool, f func(context.Context)) {
	t := &task{name: name, resume: make(chan struct{}), wake: w.now, daemon: daemon}
	w.tasks = append(w.tasks, t)
	if !daemon {
		w.alive++
	}
	ctx = context.WithValue(ctx, taskKey{}, t)
	go func() {
		defer w.end(t)
		<-t.resume
		if w.stop {
			return
		}
		f(ctx)
	}()
}

// Run gives turns until every task but the daemons has ended, or limit turns were given; 0 is no limit.
func (w *World) Run(limit int64) error {
	for w.alive > 0 {
		if limit > 0 && w.turns >= limit {
			return fmt.Errorf("sim: not done after %d turns", limit)
		}
		t, err := w.pick()
		if err != nil {
			return err
		}
		w.turns++
		if back := w.turn(t); back.ended && !back.daemon {
			w.alive--
		}
	}
	w.stop = true
	for _, t := range slices.Clone(w.tasks) {
		w.turn(t)
	}
	return nil
}

// turn lets t run until a task parks or ends: t, or the one that t was the last part of.
func (w *World) turn(t *task) (back *task) {
	w.tasks = slices.DeleteFunc(w.tasks, func(o *task) bool { return o == t })
	t.resume <- struct{}{}
	back = <-w.parked
	if !back.ended && back.left == 0 {
		w.tasks = append(w.tasks, back)
	}
	return back
}

func (w *World) end(t *task) {
	if !t.ended {
		t.ended = true
		w.parked <- t
	}
}

// Beside runs f as a task of its own, as one of several that the task of ctx runs side by side, each in a goroutine. How many they are
// must be known, for none begins before all are there: that is what makes the order they run in hang on the seed and not on
// the goroutines. Their names tell them apart. Beside returns when f has, and the task of ctx goes on when all have.
func (w *World) Beside(ctx context.Context, name string, of int, f func(context.Context)) {
	whole, ok := ctx.Value(taskKey{}).(*task)
	if !ok || of <= 1 {
		f(ctx)
		return
	}
	part := &task{name: name, resume: make(chan struct{}), daemon: true}
	if w.join(whole, part, of) {
		w.parked <- whole
	}
	<-part.resume
	defer w.leave(whole, part)
	if w.stop {
		runtime.Goexit()
	}
	f(context.WithValue(ctx, taskKey{}, part))
}

// join says whether all are there. The task they are parts of stands aside then.
func (w *World) join(whole, part *task, of int) bool {
	whole.mu.Lock()
	defer whole.mu.Unlock()
	whole.beside = append(whole.beside, part)
	if len(whole.beside) < of {
		return false
	}
	slices.SortFunc(whole.beside, func(a, b *task) int { return strings.Compare(a.name, b.name) })
	for _, t := range whole.beside {
		t.wake = w.now
		w.tasks = append(w.tasks, t)
	}
	whole.left = of
	return true
}

// leave ends a part. The last one parks nobody: its turn is the whole's now.
func (w *World) leave(whole, part *task) {
	whole.mu.Lock()
	whole.left--
	last := whole.left == 0
	if last {
		whole.beside = nil
	}
	whole.mu.Unlock()
	if !last || w.stop {
		w.end(part)
	}
}

// pick chooses among those that can run; if there is none, time jumps to the first that will.
func (w *World) pick() (*task, error) {
	w.now = w.now.Add(time.Millisecond)
	for {
		w.fire()
		var ready []*task
		for _, t := range w.tasks {
			if !t.wake.After(w.now) {
				ready = append(ready, t)
			}
		}
		if len(ready) > 0 {
			return ready[w.rng.IntN(len(ready))], nil
		}
		if len(w.tasks) == 0 {
			return nil, ErrStuck
		}
		w.now = slices.MinFunc(w.tasks, func(a, b *task) int { return a.wake.Compare(b.wake) }).wake
	}
}

// fire runs the timers that are due.
func (w *World) fire() {
	slices.SortStableFunc(w.timers, func(a, b *timer) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for len(w.timers) > 0 && !w.timers[0].at.After(w.now) {
		f := w.timers[0].f
		w.timers = w.timers[1:]
		f()
	}
}

// Yield lets others run. Outside a task it does nothing.
func (w *World) Yield(ctx context.Context) { w.park(ctx, w.now) }

func (w *World) park(ctx context.Context, wake time.Time) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return
	}
	t.wake = wake
	w.parked <- t
	<-t.resume
	if w.stop {
		w.end(t) // the task may have other goroutines that wait for this one, and none of them will run
		runtime.Goexit()
	}
}

// Now is the virtual time.
func (w *World) Now() time.Time { return w.now }

// Sleep parks the task of ctx until d has passed.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.park(ctx, w.now.Add(d))
	return ctx.Err()
}

// AfterFunc calls f when time has moved by d. Time does not move while a task runs.
func (w *World) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := &timer{w.now.Add(d), f}
	w.timers = append(w.timers, t)
	return func() { w.timers = slices.DeleteFunc(w.timers, func(o *timer) bool { return o == t }) }
}

// Text is unguessable only to those without the seed.
func (w *World) Text(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[w.rng.IntN(len(letters))]
	}
	return string(b)
}

// Chance is true with probability p.
func (w *World) Chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// Upto is a duration between 0 and d.
func (w *World) Upto(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }
