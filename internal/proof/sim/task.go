package sim

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// task is a coroutine: switching to it and back costs a fraction of what handing over between
// goroutines does.
type task struct {
	name   string
	daemon bool
	rank   int64
	parent *task
	lost   string // where its process was lost, while it stood here
	gone   bool   // with its process

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	parking
}

// parking is what a parked task waits for.
type parking struct {
	wake  time.Time
	ctx   context.Context // its end wakes a sleeper
	until [2]<-chan struct{}
}

func newTask(w *World, name string, daemon bool, f func()) *task {
	t := &task{name: name, daemon: daemon}
	t.next, t.stop = pull(func(yield func(struct{}) bool) {
		defer passOn(name)
		t.yield = yield
		f()
	})
	return t
}

// passOn lets a task end whose process was lost, and gives everything else to the world with the
// place where it came from.
func passOn(name string) {
	p := recover()
	if _, lost := p.(Crash); p != nil && !lost {
		panic(fmt.Sprintf("%s panicked: %v\n%s", name, p, debug.Stack()))
	}
}

// whole is the task that t is a part of, or t.
func (t *task) whole() *task {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// resume lets the task run; parked says whether it will go on.
func (t *task) resume() (parked bool) {
	t.parking = parking{}
	_, parked = t.next()
	return parked
}

// park stops here until the world gives the task another turn. At the end of the world it does not
// come back.
func (t *task) park(p parking) {
	t.parking = p
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	if where := t.lost; where != "" {
		t.lost = ""
		panic(Crash{where})
	}
}

// end lets the task's deferred functions run. It ends whoever calls stop as well, so that is a
// goroutine for it alone.
func (t *task) end() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.stop()
	}()
	<-ended
}

func (t *task) awaits() bool { return t.until[0] != nil || t.until[1] != nil }

func (t *task) canRun(now time.Time) bool {
	if t.gone || t.lost != "" {
		return !t.gone
	}
	if t.awaits() {
		return closed(t.until[0]) || closed(t.until[1])
	}
	return !t.wake.After(now) || t.ctx != nil && t.ctx.Err() != nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
