// Package sim runs the workers and callers of one system one at a time on a virtual clock, in an
// order that a seed decides, and injects faults into their calls of the store and the queue. The
// same seed gives the same run. The package includes an in-memory store and queue for simulations
// that are run often; they behave worse than real ones. It knows the ports of package engine, but
// not the system that it simulates.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// World schedules tasks. Exactly one task runs at a time; it runs until it yields, sleeps, waits or
// ends. Time moves a little with each turn, and jumps to the next sleeper when nobody can run. What
// a task does beside itself must be tasks of this world as well ([World.Spawn]): a goroutine that
// it does not know of may not touch it.
type World struct {
	// Order is how the next task is chosen among those that can run.
	Order Order

	// Veto, if set, is asked before the n-th event of a kind that need not happen. Those it
	// refuses do not: that is how a schedule is made smaller.
	Veto func(kind string, n int) bool

	happened map[string]int

	rng    *rand.Rand
	now    time.Time
	tasks  []*task // parked, in the order in which they parked
	ready  []*task // of the last choice, kept for its memory
	turn   *task   // the one that runs
	timers []*timer
	alive  int // tasks the world waits for
	turns  int64
	trace  func(string)
}

// Order is a way to choose. Different faults hide from different ones.
type Order int

const (
	AnyOrder  Order = iota // each turn is anybody's
	LongTurns              // who runs goes on for a while
	// the most important of those that can run, until it falls behind all others
	Priorities
)

type timer struct {
	at    time.Time
	f     func()
	whole *task // whose it is
}

// ErrStuck: nobody can run and nobody sleeps, yet not all are done.
var ErrStuck = errors.New("sim: every task is blocked")

// NewWorld starts at a fixed time with the choices of seed.
func NewWorld(seed uint64) *World {
	return &World{rng: rand.New(rand.NewPCG(seed, 0x5eed)), happened: map[string]int{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Go starts a task that the world waits for.
func (w *World) Go(ctx context.Context, name string, f func(context.Context)) {
	w.alive++
	w.start(newTask(w, name, false, func() { f(ctx) }))
}

// Daemon starts a task that is ended, at its next turn, when all others are done.
func (w *World) Daemon(ctx context.Context, name string, f func(context.Context)) {
	w.start(newTask(w, name, true, func() { f(ctx) }))
}

// Spawn starts a part of the task that runs: a daemon with its name. It implements the engine's
// Scheduler, with Await.
func (w *World) Spawn(f func()) {
	t := newTask(w, w.name(), true, f)
	t.parent = w.turn
	w.start(t)
}

// Lose ends the process that the running task is a part of: its parts stop where they stand, for
// good, and the task that spawned them panics with a [Crash].
func (w *World) Lose(where string) {
	whole := w.turn.whole()
	if whole == w.turn {
		panic(Crash{where})
	}
	w.Note("its process is lost %s", where)
	whole.lost = where
	for _, t := range append(w.tasks, w.turn) {
		if t != whole && t.whole() == whole {
			t.gone = true
		}
	}
	w.Yield(context.Background())
}

func (w *World) start(t *task) {
	t.wake, t.rank = w.now, w.rng.Int64()
	w.tasks = append(w.tasks, t)
}

func (w *World) name() string {
	if w.turn == nil {
		return "the world"
	}
	return w.turn.name
}

// Run gives turns until every task but the daemons has ended, or limit turns were given; 0 is no
// limit. Then it ends the daemons.
func (w *World) Run(limit int64) error {
	defer w.endAll()
	for w.alive > 0 {
		if limit > 0 && w.turns >= limit {
			return fmt.Errorf("sim: not done after %d turns", limit)
		}
		t, err := w.pick()
		if err != nil {
			return err
		}
		w.turns++
		w.give(t)
	}
	return nil
}

// give lets t run until it parks or ends.
func (w *World) give(t *task) {
	w.tasks = slices.DeleteFunc(w.tasks, func(o *task) bool { return o == t })
	w.turn = t
	parked := t.resume()
	w.turn = nil
	switch {
	case parked:
		w.tasks = append(w.tasks, t)
	case !t.daemon:
		w.alive--
	}
}

func (w *World) endAll() {
	for len(w.tasks) > 0 {
		t := w.tasks[0]
		w.tasks = w.tasks[1:]
		t.end()
	}
	w.timers = nil
}

// pick chooses among those that can run; if there is none, time jumps to the first that will.
func (w *World) pick() (*task, error) {
	w.now = w.now.Add(time.Millisecond)
	for {
		w.fire()
		w.ready = w.ready[:0]
		for _, t := range w.tasks {
			if t.canRun(w.now) {
				w.ready = append(w.ready, t)
			}
		}
		if len(w.ready) > 0 {
			return w.choose(w.ready), nil
		}
		next, some := w.nextWake()
		if !some {
			return nil, ErrStuck
		}
		w.now = next
	}
}

// choose is the only place where the order of things is decided.
func (w *World) choose(ready []*task) *task {
	last := ready[len(ready)-1] // who parked last and can run at once
	next := w.inOrder(ready, last)
	if next != last && !w.Allows("switch") {
		return last
	}
	return next
}

func (w *World) inOrder(ready []*task, last *task) *task {
	switch w.Order {
	case LongTurns:
		if w.rng.IntN(8) > 0 {
			return last
		}
	case Priorities:
		first := slices.MaxFunc(ready, func(a, b *task) int { return cmp.Compare(a.rank, b.rank) })
		if w.rng.IntN(16) == 0 {
			first.rank = -w.turns - 1
		}
		return first
	}
	return ready[w.rng.IntN(len(ready))]
}

func (w *World) nextWake() (next time.Time, some bool) {
	take := func(at time.Time) {
		if !some || at.Before(next) {
			next, some = at, true
		}
	}
	for _, t := range w.tasks {
		if !t.awaits() && !t.gone {
			take(t.wake)
		}
	}
	for _, t := range w.timers {
		take(t.at)
	}
	return next, some
}

// fire makes tasks of the timers that are due.
func (w *World) fire() {
	for {
		i := -1
		for n, t := range w.timers {
			if !t.at.After(w.now) && (i < 0 || t.at.Before(w.timers[i].at)) {
				i = n
			}
		}
		if i < 0 {
			return
		}
		due := w.timers[i]
		w.timers = slices.Delete(w.timers, i, i+1)
		t := newTask(w, "a timer", true, due.f)
		if t.parent = due.whole; t.parent != nil {
			t.name = "a timer of " + t.parent.name
		}
		w.start(t)
	}
}

// Yield lets others run. Outside a task it does nothing.
func (w *World) Yield(context.Context) {
	if t := w.turn; t != nil {
		t.park(parking{wake: w.now})
	}
}

// Sleep parks the running task until d has passed or ctx has ended, whose error it then returns.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	if t := w.turn; t != nil {
		t.park(parking{wake: w.now.Add(d), ctx: ctx})
	}
	return ctx.Err()
}

// Await parks the running task until one of two channels is closed.
func (w *World) Await(a, b <-chan struct{}) {
	if t := w.turn; t != nil {
		t.park(parking{wake: w.now, until: [2]<-chan struct{}{a, b}})
	}
}

// Now is the virtual time.
func (w *World) Now() time.Time { return w.now }

// AfterFunc calls f, as a part of the running task, when time has moved by d.
func (w *World) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := &timer{at: w.now.Add(d), f: f}
	if w.turn != nil {
		t.whole = w.turn.whole()
	}
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

// Happens is true with probability p, unless that is vetoed. Only what may be left out without harm
// is asked for here.
func (w *World) Happens(kind string, p float64) bool { return w.Chance(p) && w.Allows(kind) }

// Allows counts one more event of a kind and says whether it may happen. What is drawn for it is
// best drawn before, so that without it all others stay as they are.
func (w *World) Allows(kind string) bool {
	w.happened[kind]++
	return w.Veto == nil || !w.Veto(kind, w.happened[kind])
}

// Happened is how many events of each kind there were, vetoed ones included.
func (w *World) Happened() map[string]int { return w.happened }

// Upto is a duration between 0 and d.
func (w *World) Upto(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

// Trace writes a line for everything that is noted from now on.
func (w *World) Trace(line func(string)) { w.trace = line }

// Traced says whether somebody reads what is noted.
func (w *World) Traced() bool { return w.trace != nil }

// Note tells what the running task does, if anybody listens.
func (w *World) Note(format string, args ...any) {
	if w.trace != nil {
		w.trace(w.now.Format("15:04:05.000") + "  " + w.name() + ": " + fmt.Sprintf(format, args...))
	}
}
