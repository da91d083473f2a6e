package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Crash is what a task panics with when its process is lost. Nothing it held in memory counts any
// more.
type Crash struct{ Where string }

// Kinds of fault, as they are counted.
const (
	CrashBefore = "crash before"
	CrashAfter  = "crash after"
	NoAnswer    = "not done, no answer"
	LostReply   = "done, reply lost"
	Doubled     = "message doubled"
	Delayed     = "message delayed"
	Lost        = "message lost"
	Paused      = "paused"
	LateCopy    = "request landed again later"
)

// Faults decides, at each operation, whether something goes wrong, and counts what did.
type Faults struct {
	World  *World
	Rate   float64 // of each operation
	Counts map[string]int
	Ops    int64

	// Worse multiplies Rate for operations of these names.
	Worse map[string]float64

	// Down says until when requests for these operations get lost.
	Down map[string]time.Time

	// Pause is the chance that a process stands still for up to PauseMax before or after an
	// operation: longer than its lease, and it comes back to a run that another one owns.
	Pause    float64
	PauseMax time.Duration

	// Silence is how long it takes at most until a reply counts as lost. Meanwhile the world
	// goes on, and what comes then finds the operation done.
	Silence time.Duration

	// Late is the chance that a copy of a write lands again up to LateMax later, when nobody
	// waits for its answer any more.
	Late    float64
	LateMax time.Duration

	// Choose, if set, says in place of chance what becomes of an operation: one of
	// [CrashBefore], [CrashAfter], [NoAnswer], [LostReply], or nothing. Its number is that of
	// Ops.
	Choose func(number int64, operation string) (kind string)
}

// Stop ends all faults; copies that are already under way still land.
func (f *Faults) Stop() { f.Rate, f.Pause, f.Late, f.Choose, f.Down = 0, 0, 0, nil, nil }

// NewFaults with a rate of 0 injects nothing but still interleaves.
func NewFaults(w *World, rate float64) *Faults {
	return &Faults{World: w, Rate: rate, Counts: map[string]int{}}
}

func (f *Faults) count(kind string) { f.Counts[kind]++ }

// Lose is how a process is lost: it panics with a [Crash]. A store or queue whose users know
// another way names it.
type Lose func(where string)

func (l Lose) at(where string) {
	if l != nil {
		l(where)
	}
	panic(Crash{where})
}

// op runs one operation of a store or queue among the faults.
func op[T any](ctx context.Context, f *Faults, lose Lose, name string, do func() (T, error)) (T, error) {
	f.World.Yield(ctx)
	f.Ops++
	f.pause(ctx)
	v, err := struck(ctx, f, lose, name, do)
	f.pause(ctx)
	return v, err
}

// struck does the operation, unless its process is lost or its request is, before or after.
func struck[T any](ctx context.Context, f *Faults, lose Lose, name string, do func() (T, error)) (v T, err error) {
	kind := f.kind(name)
	if kind != "" {
		f.count(kind)
		f.World.Note("%s: %s", name, kind)
	}
	switch kind {
	case CrashBefore:
		lose.at("before " + name)
	case NoAnswer:
		return v, fmt.Errorf("%s: %w", name, engine.ErrUnavailable)
	case LostReply:
		if v, err = do(); err != nil {
			return v, err
		}
		f.silence(ctx)
		var nothing T
		return nothing, fmt.Errorf("%s: %w", name, engine.ErrUnavailable)
	case CrashAfter:
		_, _ = do()
		lose.at("after " + name)
	}
	return do()
}

// kind is what goes wrong with an operation.
func (f *Faults) kind(name string) string {
	if f.Choose != nil {
		return f.Choose(f.Ops, name)
	}
	rate := f.Rate
	if times, worse := f.Worse[name]; worse {
		rate *= times
	}
	if f.World.Now().Before(f.Down[name]) && f.World.Allows("down") {
		return NoAnswer
	}
	if !f.World.Chance(rate) {
		return ""
	}
	kind := []string{CrashBefore, NoAnswer, LostReply, CrashAfter}[f.World.rng.IntN(4)]
	if !f.World.Allows("fault") {
		return ""
	}
	return kind
}

func (f *Faults) pause(ctx context.Context) {
	if !f.World.Chance(f.Pause) {
		return
	}
	if d := f.World.Upto(f.PauseMax); f.World.Allows("pause") {
		f.count(Paused)
		f.World.Note("stands still for %s", d)
		_ = f.World.Sleep(ctx, d)
	}
}

func (f *Faults) silence(ctx context.Context) {
	if f.Silence > 0 && f.World.Chance(0.5) {
		_ = f.World.Sleep(ctx, f.World.Upto(f.Silence))
	}
}

const soon = 20 * time.Millisecond

func (f *Faults) copyLater(ctx context.Context, name string, do func(context.Context)) {
	if !f.World.Chance(f.Late) {
		return
	}
	wait := f.World.Upto(f.LateMax)
	if f.World.Chance(0.5) {
		// while the one who sent it still works: an activation takes some milliseconds of
		// this world
		wait = f.World.Upto(soon)
	}
	if !f.World.Allows("copy") {
		return
	}
	f.count(LateCopy)
	f.World.Note("%s: a copy will land %s later", name, wait)
	f.World.Daemon(context.WithoutCancel(ctx), "a late copy of "+name, func(ctx context.Context) {
		_ = f.World.Sleep(ctx, wait)
		do(ctx)
	})
}
