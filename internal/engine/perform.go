package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Why a body or a model call was stopped from outside.
var (
	errCancelled = errors.New("the run was cancelled")
	errDeadline  = errors.New("the time of this activation is over")
	errLeaseOver = errors.New("engine: the lease is too near its end to start a body that must not run twice")
)

// askModel calls the model with the whole conversation.
func (a *activation) askModel(ctx context.Context) error {
	segments, err := a.journal(ctx, 1)
	if err != nil {
		return err
	}
	log := core.Messages(segments)
	h := a.view.Head
	prompt := Prompt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Step: h.Step + 1, Instructions: a.agent.Instructions,
		Messages: core.Transcript(log), Tools: a.agent.Offered}
	a.view.Asked, a.report.Asked = true, true

	turn, err := watched(ctx, a, func(ctx context.Context) (core.Turn, error) { return a.agent.Model.Ask(ctx, prompt) })
	if err == nil {
		a.view.Turn, a.view.Used = &turn, core.UsedCallIDs(log)
		return nil
	}
	var stop *StopError
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil:
		return err
	case errors.Is(err, errCancelled):
		return nil // the cancel is in the inbox that the watch has left in the view
	case errors.As(err, &stop):
		a.view.Failure = &core.ModelFailure{Reason: core.Reason{Kind: core.Stopped, Code: stop.Code, Detail: stop.Detail}}
	case errors.Is(err, errDeadline), errors.Is(err, ErrTryAgain):
		a.view.Failure = &core.ModelFailure{Again: true, Reason: core.Reason{Kind: core.Failed, Code: "model_unavailable", Detail: publicDetail(err)}}
	default:
		a.e.o.Logger.Error("the model failed", "run", h.Run, "error", err)
		a.view.Failure = &core.ModelFailure{Reason: core.Reason{Kind: core.Failed, Code: "model_error", Detail: publicDetail(err)}}
	}
	return nil
}

// publicDetail is what callers may be shown of a model's failure.
func publicDetail(err error) string {
	var public *ModelError
	if errors.As(err, &public) {
		return public.Detail
	}
	return "the model could not answer; the log of the worker has the cause"
}

// runBody executes one call.
func (a *activation) runBody(ctx context.Context, run core.BodyRun) error {
	h := a.view.Head
	tool, ok := a.agent.Tools[run.Call.Name]
	if !ok {
		a.outcome(run, core.Outcome{Failed: true, Text: fmt.Sprintf("The tool %q is not available any more; the call did not run.", run.Call.Name)}, false)
		return nil
	}
	req := ToolRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Call: run.Call, Epoch: h.Epoch, Resume: run.Resume,
		Key: fmt.Sprintf("%s/%s/%d", h.Run, run.Call.ID, run.Attempt)}
	// The last look at the clock before something that no store can take back. A process that was frozen between its intent and
	// here finds its lease over, and the next owner has asked a person meanwhile.
	if run.AtMostOnce && a.timeLeft() <= 0 {
		return errLeaseOver
	}
	a.report.Bodies++
	out, err := watched(ctx, a, func(ctx context.Context) (core.Outcome, error) { return tool.Run(ctx, req) })
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil && err != nil:
		return err
	case errors.Is(err, errCancelled), errors.Is(err, errDeadline):
		a.outcome(run, core.Outcome{}, true)
	case err != nil:
		a.outcome(run, core.Outcome{Failed: true, Text: err.Error()}, false)
	default:
		a.outcome(run, out, false)
	}
	return nil
}

func (a *activation) outcome(run core.BodyRun, out core.Outcome, interrupted bool) {
	a.view.Outcomes = append(a.view.Outcomes, core.BodyOutcome{CallID: run.Call.ID, Outcome: out, Interrupted: interrupted})
}

// timeLeft is how long bodies and the model may still work.
func (a *activation) timeLeft() time.Duration {
	return time.UnixMilli(a.view.Head.Lease).Add(-a.e.o.Margin).Sub(a.e.o.Clock.Now())
}

// timeUp says whether what comes next is better begun in an activation of its own: none of the time is left, or this one has done
// its share and less than a quarter is. One that has done nothing yet would only find itself again.
func (a *activation) timeUp() bool {
	left := a.timeLeft()
	worked := a.report.Asked || a.report.Bodies > 0
	return left <= 0 || worked && left < (a.e.o.Lease-a.e.o.Margin)/4
}

// watched runs f in a context that ends when the lease is nearly over, when the run is cancelled, or when another owner took it.
// What f has finished counts even if it finished late; an f that does not stop is left behind after half the margin.
func watched[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{a: a, head: a.view.Head, ctx: ctx, cancel: cancel}
	defer w.end()
	w.start()

	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := guarded(ctx, a, f)
		done <- answer{v, err}
	}()
	select {
	case got := <-done:
		return got.v, w.cause(got.err)
	case <-ctx.Done():
	}
	left := make(chan struct{})
	stop := a.e.o.Clock.AfterFunc(a.e.o.Margin/2, func() { close(left) })
	defer stop()
	select {
	case got := <-done:
		return got.v, w.cause(got.err)
	case <-left:
		var zero T
		return zero, context.Cause(ctx)
	}
}

// guarded turns a panic of a body or a model into an error without internals; those are for the log.
func guarded[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.e.o.Logger.Error("a body or the model panicked", "panic", p, "stack", string(debug.Stack()))
			err = errors.New("it failed unexpectedly")
		}
	}()
	return f(ctx)
}

// watch looks at the head now and then while something slow runs.
type watch struct {
	a      *activation
	head   core.Head // as it was when the watch began
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	stopped  bool
	stopTick func()
	stopEnd  func()
	seen     *core.Head
}

func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopEnd = w.a.e.o.Clock.AfterFunc(w.a.timeLeft(), func() { w.cancel(errDeadline) })
	w.stopTick = w.a.e.o.Clock.AfterFunc(w.a.e.o.Watch, w.tick)
}

func (w *watch) tick() {
	now, err := w.a.e.o.Store.Load(w.ctx, w.head.Tenant, w.head.Thread)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	switch {
	case err != nil: // look again; the commit will tell
	case now.Epoch != w.head.Epoch:
		w.cancel(ErrFenced)
		return
	default:
		if _, ok := now.Inbox[core.KeyCancel]; ok {
			w.seen = &now
			w.cancel(errCancelled)
			return
		}
	}
	w.stopTick = w.a.e.o.Clock.AfterFunc(w.a.e.o.Watch, w.tick)
}

// end stops looking, and leaves what was seen in the view.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.stopTick()
	w.stopEnd()
	w.cancel(nil)
	if w.seen != nil {
		w.a.view.Head = *w.seen
	}
}

// cause says why f failed: for a reason of its own, or because it was stopped.
func (w *watch) cause(err error) error {
	if err != nil && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return err
}

// send works the outbox off.
func (a *activation) send(ctx context.Context, keys []string) {
	for _, key := range keys {
		if err := a.sendOne(ctx, a.view.Head.Out[key]); err != nil {
			a.e.o.Logger.Warn("not sent", "run", a.view.Head.Run, "entry", key, "error", err)
			a.view.NotSent = true
			return
		}
		a.view.Sent = append(a.view.Sent, key)
	}
}

func (a *activation) sendOne(ctx context.Context, out core.Out) error {
	h := a.view.Head
	seq, ok := core.SuspensionSeq(out.Sus)
	if out.Kind != core.OutNotify || !ok || a.e.o.Notifier == nil {
		return nil // nobody to tell any more
	}
	segments, err := retrying(ctx, a.e, func() ([]core.Segment, error) { return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, seq, seq) })
	if err != nil {
		return err
	}
	for _, s := range segments {
		if call, _, ok := core.FindSuspended(s, out.Sus); ok {
			return a.e.o.Notifier.Notify(ctx, Notice{h.Tenant, h.Thread, h.Run, call})
		}
	}
	return nil
}
