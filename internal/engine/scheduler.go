package engine

import (
	"context"
	"errors"
)

// Scheduler runs what an activation does beside itself: a body or a model call while its own time
// and the run are watched, several bodies at once. A simulation, which lets one thing happen at a
// time, brings its own.
type Scheduler interface {
	// Spawn runs f beside the caller.
	Spawn(f func())

	// Await returns when a or b is closed. A nil channel never is.
	Await(a, b <-chan struct{})
}

type goroutines struct{}

func (goroutines) Spawn(f func()) { go f() }

func (goroutines) Await(a, b <-chan struct{}) {
	select {
	case <-a:
	case <-b:
	}
}

// Slots are the right to compute, where many activations share a process. A step begins with a
// slot, gives it up while it waits for bodies, the model, a hook, the memory or a commit, and takes
// one again before it goes on. So an activation that waits does not keep others from computing.
type Slots interface {
	// GiveUp returns the slot of an activation of the tenant.
	GiveUp(tenant string)

	// Take waits for a slot.
	Take(tenant string)
}

// rest gives the activation's slot up until back is called.
func (a *activation) rest() (back func()) {
	slots, tenant := a.e.o.Slots, a.view.Head.Tenant
	if slots == nil {
		return func() {}
	}
	slots.GiveUp(tenant)
	return func() { slots.Take(tenant) }
}

// beside runs f, guarded, and closes done when it is over. The answer is there then, and not
// before.
func beside[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (done <-chan struct{}, got *answer[T]) {
	over := make(chan struct{})
	got = &answer[T]{err: errNoAnswer}
	a.e.o.Scheduler.Spawn(func() {
		defer close(over)
		v, err := guarded(ctx, a, f)
		*got = answer[T]{v, err, true}
	})
	return over, got
}

// errNoAnswer: the goroutine ended, and not by returning.
var errNoAnswer = errors.New("it ended without an answer")

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
