// Package runcontrol makes a control of runs from functions that may fail.
package runcontrol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Controls are the two questions of a [engine.RunControl] as functions that may fail. A nil one
// says no.
type Controls struct {
	ShouldYield func(ctx context.Context, run engine.RunRef) (bool, error)
	IsCancelled func(ctx context.Context, run engine.RunRef) (bool, error)
}

// answerTime is how long an answer of a guarded control is waited for.
const answerTime = time.Second

// Guard is a control whose answer is no where a function fails, panics or has not answered
// within a second. So a control that is broken neither stops a run nor loses anything of it: the
// run goes on as if there were none. A function that has not answered is left behind, and is not
// asked about the same run again until it has. What went wrong is logged once until an answer
// comes. It returns nil if there is no function at all.
func Guard(c Controls, clock engine.Clock, log *slog.Logger) engine.RunControl {
	if c.ShouldYield == nil && c.IsCancelled == nil {
		return nil
	}
	return &guarded{Controls: c, clock: clock, log: log, open: map[string]bool{}, failing: map[string]bool{}}
}

type guarded struct {
	Controls
	clock engine.Clock
	log   *slog.Logger

	mu      sync.Mutex
	open    map[string]bool // questions without an answer
	failing map[string]bool // functions whose last answer was none
}

// ShouldYield implements [engine.RunControl].
func (g *guarded) ShouldYield(ctx context.Context, run engine.RunRef) bool {
	return g.ask(ctx, "ShouldYield", run, g.Controls.ShouldYield)
}

// IsCancelled implements [engine.RunControl].
func (g *guarded) IsCancelled(ctx context.Context, run engine.RunRef) bool {
	return g.ask(ctx, "IsCancelled", run, g.Controls.IsCancelled)
}

func (g *guarded) ask(ctx context.Context, what string, run engine.RunRef, f func(context.Context, engine.RunRef) (bool, error)) bool {
	question := fmt.Sprint(what, " ", run)
	if f == nil || !g.begin(question) {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := make(chan struct{})
	defer g.clock.AfterFunc(answerTime, func() { close(late) })()
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer}
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())}
			}
			g.end(question)
			answered <- a
		}()
		a.yes, a.err = f(ctx, run)
	}()
	var a answer
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

type answer struct {
	yes bool
	err error
}

// begin says whether the question may be asked: it is not if the last time it was asked has no
// answer yet.
func (g *guarded) begin(question string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[question] {
		return false
	}
	g.open[question] = true
	return true
}

func (g *guarded) end(question string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, question)
}

// logFailure logs the first of several failures in a row.
func (g *guarded) logFailure(what string, run engine.RunRef, err error) {
	g.mu.Lock()
	first := err != nil && !g.failing[what]
	g.failing[what] = err != nil
	g.mu.Unlock()
	if first {
		g.log.Warn("a run control gave no answer; the run continues", "function", what, "run", run.Run, "tenant", run.Tenant, "error", err)
	}
}

var (
	errNoAnswer = errors.New("it ended without an answer")
	errTooLong  = errors.New("it took too long")
)
