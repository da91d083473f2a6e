package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// RunControl yields and cancels runs from outside. It is polled, and its answers may change. It
// answers at once, and neither fails nor panics; [GuardControl] makes one of functions that may.
// Safe for concurrent use.
type RunControl interface {
	// ShouldYield is asked after the model's answer and before it is accepted. True drops the
	// answer, which is counted and journaled, and the model is asked again later.
	ShouldYield(ctx context.Context, run RunRef) bool

	// IsCancelled is asked between the parts of a step and while a body or the model runs. True
	// ends the run as cancelled.
	IsCancelled(ctx context.Context, run RunRef) bool
}

// RunRef names a run.
type RunRef struct{ Tenant, Thread, Run, Agent string }

// Controls are the two questions of a [RunControl] as functions that may fail. A nil one says no.
type Controls struct {
	ShouldYield func(ctx context.Context, run RunRef) (bool, error)
	IsCancelled func(ctx context.Context, run RunRef) (bool, error)
}

// controlTime is how long an answer of a guarded control is waited for.
const controlTime = time.Second

// GuardControl is a control whose answer is no where a function fails, panics or has not answered
// within a second. So a control that is broken neither stops a run nor loses anything of it: the
// run goes on as if there were none. A function that has not answered is left behind, and is not
// asked about the same run again until it has. What went wrong is logged once until an answer
// comes. It returns nil if there is no function at all.
func GuardControl(c Controls, clock Clock, log *slog.Logger) RunControl {
	if c.ShouldYield == nil && c.IsCancelled == nil {
		return nil
	}
	return &guardedControl{Controls: c, clock: clock, log: log, open: map[string]bool{}, failing: map[string]bool{}}
}

type guardedControl struct {
	Controls
	clock Clock
	log   *slog.Logger

	mu      sync.Mutex
	open    map[string]bool // questions without an answer
	failing map[string]bool // functions whose last answer was none
}

// ShouldYield implements [RunControl].
func (g *guardedControl) ShouldYield(ctx context.Context, run RunRef) bool {
	return g.ask(ctx, "ShouldYield", run, g.Controls.ShouldYield)
}

// IsCancelled implements [RunControl].
func (g *guardedControl) IsCancelled(ctx context.Context, run RunRef) bool {
	return g.ask(ctx, "IsCancelled", run, g.Controls.IsCancelled)
}

func (g *guardedControl) ask(ctx context.Context, what string, run RunRef, f func(context.Context, RunRef) (bool, error)) bool {
	question := fmt.Sprint(what, " ", run)
	if f == nil || !g.begin(question) {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := make(chan struct{})
	defer g.clock.AfterFunc(controlTime, func() { close(late) })()
	answered := make(chan controlAnswer, 1)
	go func() {
		a := controlAnswer{err: errNoAnswer}
		defer func() {
			if p := recover(); p != nil {
				a = controlAnswer{err: fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())}
			}
			g.end(question)
			answered <- a
		}()
		a.yes, a.err = f(ctx, run)
	}()
	var a controlAnswer
	select {
	case a = <-answered:
	case <-late:
		a.err = errTooLong
	case <-ctx.Done(): // the activation is given up and the answer isn't needed
		return false
	}
	g.logFailure(what, run, a.err)
	return a.yes && a.err == nil
}

type controlAnswer struct {
	yes bool
	err error
}

// begin says whether the question may be asked: it is not if the last time it was asked has no
// answer yet.
func (g *guardedControl) begin(question string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[question] {
		return false
	}
	g.open[question] = true
	return true
}

func (g *guardedControl) end(question string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, question)
}

// logFailure logs the first of several failures in a row.
func (g *guardedControl) logFailure(what string, run RunRef, err error) {
	g.mu.Lock()
	first := err != nil && !g.failing[what]
	g.failing[what] = err != nil
	g.mu.Unlock()
	if first {
		g.log.Warn("a run control gave no answer; the run continues", "function", what, "run", run.Run, "tenant", run.Tenant, "error", err)
	}
}
