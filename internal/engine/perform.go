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

// askModel calls the model with the whole conversation, as the hooks have shaped the request.
func (a *activation) askModel(ctx context.Context, r core.Request) error {
	segments, err := a.journal(ctx, 1)
	if err != nil {
		return err
	}
	log := core.Messages(segments)
	prompt := a.prompt(log, r)
	a.speaker = a.speak(r.Step)
	heard := &heard{clock: a.e.o.Clock, next: a.speaker.take}
	prompt.Say = heard.take
	a.view.Asked, a.report.Asked = true, true

	asked := a.now()
	turn, err := traced(ctx, a.e, "model", func(ctx context.Context) (core.Turn, error) {
		return watched(ctx, a, func(ctx context.Context) (core.Turn, error) { return a.agent.Model.Ask(ctx, prompt) })
	})
	a.speaker.rest(err == nil)
	if errors.Is(err, errCancelled) && ctx.Err() == nil { // the watch has left the cancel in the view, and the run ends
		text := heard.text()
		if text == "" {
			return nil
		}
		turn, err = core.Turn{Text: text, Cut: true, NoUsage: true, End: &core.Reason{Kind: core.Cancelled}}, nil
	}
	turn.AskedAt, turn.FirstAt, turn.EndedAt = asked, heard.firstAt(), a.now()
	if err == nil {
		a.view.Turn, a.view.Used = &turn, core.UsedCallIDs(log)
		a.view.Yielded = a.yields(ctx)
		return nil
	}
	return a.noTurn(ctx, err)
}

func (a *activation) prompt(log []core.Message, r core.Request) Prompt {
	h := a.view.Head
	p := Prompt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Step: r.Step, Instructions: a.agent.Instructions, Messages: core.Transcript(log)}
	for _, text := range r.Context {
		p.Messages = append(p.Messages, core.Message{Role: core.RoleSystem, Parts: core.TextParts(text), RunID: h.Run, At: a.view.Now})
	}
	for _, tool := range a.agent.Offered {
		if r.Offers(tool.Name) {
			p.Tools = append(p.Tools, tool)
		}
	}
	p.Patient = a.patient(p.Tools)
	if o := r.Override; o != nil {
		p.Parameters = o.Parameters
		if o.Instructions != "" {
			p.Instructions = o.Instructions
		}
	}
	return p
}

// noTurn says in the view why the model gave no turn; an error gives the activation up.
func (a *activation) noTurn(ctx context.Context, err error) error {
	h := a.view.Head
	var stop *StopError
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil:
		return err
	case errors.As(err, &stop):
		a.view.Failure = &core.ModelFailure{Reason: core.Reason{Kind: core.Stopped, Code: stop.Code, Detail: stop.Detail}}
	case errors.Is(err, errDeadline), errors.Is(err, ErrTryAgain):
		a.view.Failure = a.passing(err)
	default:
		a.e.o.Logger.Error("the model failed", "run", h.Run, "error", err)
		a.view.Failure = &core.ModelFailure{Reason: core.Reason{Kind: core.Failed, Code: "model_error", Detail: publicDetail(err)}}
	}
	return nil
}

// passing is a failure after which the model is asked again. A model that was still answering when the time of the activation was
// over is no outage.
func (a *activation) passing(err error) *core.ModelFailure {
	_, cut := errors.AsType[*CutShort](err)
	f := &core.ModelFailure{Again: true, Answered: cut, Reason: core.Reason{Kind: core.Failed, Code: "model_unavailable", Detail: publicDetail(err)}}
	later, ok := errors.AsType[*TryLater](err)
	if ok {
		f.Answered, f.After = later.Answered, later.After.Milliseconds()
	}
	if f.Answered {
		f.Reason.Code = "model_error"
	}
	a.e.o.Logger.Warn("the model gave no turn", "run", a.view.Head.Run, "answered", f.Answered, "busy", ok && later.Busy,
		"failures", a.view.Head.ModelTries+1, "error", err)
	return f
}

// publicDetail is what callers may be shown of a model's failure.
func publicDetail(err error) string {
	var public *ModelError
	var later *TryLater
	var cut *CutShort
	switch {
	case errors.As(err, &public):
		return public.Detail
	case errors.As(err, &later):
		return later.Detail
	case errors.As(err, &cut):
		return "the model's answer took longer than the time that one activation has"
	case errors.Is(err, errDeadline):
		return "the model did not answer in the time that one activation has"
	}
	return "the model could not answer; the log of the worker has the cause"
}

// runBodies executes calls, side by side if there are several. What ended counts, in call order; what was stopped from outside is
// said to be interrupted.
func (a *activation) runBodies(ctx context.Context, runs []core.BodyRun) error {
	a.batch++
	outcomes := make([]core.BodyOutcome, len(runs))
	bodies := make([]body, len(runs))
	for i, run := range runs {
		outcomes[i] = core.BodyOutcome{CallID: run.Call.ID, Batch: a.batch}
		body, err := a.body(run)
		if err != nil {
			return err
		}
		bodies[i] = body
	}
	err := a.sideBySide(ctx, bodies, outcomes)
	if err != nil {
		return err
	}
	a.view.Outcomes = append(a.view.Outcomes, outcomes...)
	return nil
}

// body is one execution, ready to begin.
type body func(context.Context) (ran, error)

// ran is what a body came to and when it ran; times of 0 are of one that did not return, or is missing.
type ran struct {
	core.Outcome
	missing      bool
	began, ended int64
}

// since is r with the time its body began at, where it could not say that itself.
func (r ran) since(began int64) ran {
	if r.began == 0 {
		r.began = began
	}
	return r
}

func (a *activation) now() int64 { return a.e.o.Clock.Now().UnixMilli() }

// body makes one execution ready.
func (a *activation) body(run core.BodyRun) (body, error) {
	h := a.view.Head
	tool, ok := a.agent.Tools[run.Call.Name]
	if !ok {
		text := fmt.Sprintf("The tool %q is not available any more; the call did not run.", run.Call.Name)
		return func(context.Context) (ran, error) {
			return ran{Outcome: core.Outcome{Failed: true, Text: text}, missing: true}, nil
		}, nil
	}
	req := ToolRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Call: run.Call, Epoch: h.Epoch, Resume: run.Resume,
		Key: fmt.Sprintf("%s/%s/%d", h.Run, run.Call.ID, run.Attempt), State: NewPad(run.State), Scratch: NewScratch(run.Scratch), AtMostOnce: run.AtMostOnce,
		Again: run.Again}
	watch := a.watchBodies()
	req.Progress = func(p Progress) { watch.says(run.Call, p) }
	// The last look at the clock before something that no store can take back. A process that was frozen between its intent and
	// here finds its lease over, and the next owner has asked a person meanwhile.
	if run.AtMostOnce && a.timeLeft() <= 0 {
		return nil, errLeaseOver
	}
	a.report.Bodies++
	committed := h.Calls[run.Call.ID].Status == core.CallRunning // its start is an event already
	return func(ctx context.Context) (ran, error) {
		began := a.now()
		if !committed {
			watch.began(run.Call)
		}
		out, err := traced(ctx, a.e, "tool "+run.Call.Name, func(ctx context.Context) (core.Outcome, error) { return tool.Run(ctx, req) })
		if out.State = nil; err == nil && !out.Failed {
			out.State = req.State.Ops()
		}
		if out.Ticket != nil {
			out.Scratch = req.Scratch.outcome()
		}
		return ran{Outcome: out, began: began, ended: a.now()}, err
	}, nil
}

// sideBySide runs bodies under one watch. A single one needs no goroutine of its own beyond the watch's.
func (a *activation) sideBySide(ctx context.Context, bodies []body, outcomes []core.BodyOutcome) error {
	began := a.now()
	if len(bodies) == 1 {
		out, err := watched(ctx, a, bodies[0])
		return a.came(ctx, &outcomes[0], out.since(began), err)
	}
	answers := make([]answer[ran], len(bodies))
	var mu sync.Mutex
	_, err := watched(ctx, a, func(ctx context.Context) (struct{}, error) {
		all, left := make(chan struct{}), len(bodies)
		for i, body := range bodies {
			a.e.o.Scheduler.Spawn(func() {
				out, err := guarded(ctx, a, body)
				if err != nil && ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[i] = answer[ran]{out, err, true}
				if left--; left == 0 {
					close(all)
				}
			})
		}
		a.e.o.Scheduler.Await(all, nil)
		return struct{}{}, nil
	})
	mu.Lock()
	defer mu.Unlock()
	for i, got := range answers {
		if !got.there {
			got.err = err // it did not stop in time
		}
		if err := a.came(ctx, &outcomes[i], got.v.since(began), got.err); err != nil {
			return err
		}
	}
	return nil
}

// came notes what a body came to; an error gives the activation up.
func (a *activation) came(ctx context.Context, to *core.BodyOutcome, out ran, err error) error {
	to.Began, to.Ended = out.began, out.ended
	if to.Ended == 0 {
		to.Ended = a.now() // it did not return
	}
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil && err != nil:
		return err
	case errors.Is(err, errCancelled), errors.Is(err, errDeadline):
		to.Interrupted = true
	case err != nil:
		to.Outcome = core.Outcome{Failed: true, Text: err.Error()}
	default:
		to.Outcome, to.Missing = out.Outcome, out.missing
	}
	return nil
}

// timeLeft is how long bodies and the model may still work.
func (a *activation) timeLeft() time.Duration {
	return time.UnixMilli(a.view.Head.Lease).Add(-a.e.o.Skew - a.e.o.Margin).Sub(a.e.o.Clock.Now())
}

// timeUp says whether what comes next is better begun in an activation of its own: none of the time is left, or this one has done
// its share and less than a quarter is. One that has done nothing yet would only find itself again.
func (a *activation) timeUp() bool {
	left := a.timeLeft()
	worked := a.report.Asked || a.report.Bodies > 0
	return left <= 0 || worked && left < (left+a.e.o.Clock.Now().Sub(a.began))/4
}

// watched runs f in a context that ends when the lease is nearly over, when the run is cancelled, or when another owner took it.
// What f has finished counts even if it finished late; an f that does not stop is left behind after half the margin.
func watched[T any](ctx context.Context, a *activation, f func(context.Context) (T, error)) (T, error) {
	defer a.rest()()
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{a: a, head: a.view.Head, ctx: ctx, cancel: cancel}
	defer w.end()
	w.start()

	done, got := beside(ctx, a, f)
	a.e.o.Scheduler.Await(done, ctx.Done())
	if !isClosed(done) {
		left := make(chan struct{})
		defer a.e.o.Clock.AfterFunc(a.e.o.Margin/2, func() { close(left) })()
		a.e.o.Scheduler.Await(done, left)
	}
	if !isClosed(done) {
		var zero T
		return zero, context.Cause(ctx)
	}
	return got.v, w.cause(got.err)
}

// answer is what something that ran in a goroutine of its own came to.
type answer[T any] struct {
	v     T
	err   error
	there bool
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
	outside  bool // whoever runs the engine cancelled
}

func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopEnd = w.a.e.o.Clock.AfterFunc(w.a.timeLeft(), func() { w.cancel(errDeadline) })
	w.stopTick = w.a.e.o.Clock.AfterFunc(w.a.e.o.Watch, w.tick)
}

func (w *watch) tick() {
	now, err := w.a.e.o.Store.Load(w.ctx, w.head.Tenant, w.head.Thread)
	outside := err == nil && now.Epoch == w.head.Epoch && w.a.outsideCancel(w.ctx, w.head)
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
	case outside:
		w.outside = true
		w.cancel(errCancelled)
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
	w.a.view.Cancelled = w.a.view.Cancelled || w.outside
}

// outsideCancel asks the engine's owner about the run of a head.
func (a *activation) outsideCancel(ctx context.Context, h core.Head) bool {
	return a.e.o.Control != nil && a.e.o.Control.IsCancelled(ctx, refOf(h))
}

// cause says why f failed: for a reason of its own, or because it was stopped.
func (w *watch) cause(err error) error {
	if err == nil || w.ctx.Err() == nil {
		return err
	}
	if _, cut := errors.AsType[*CutShort](err); cut {
		return &CutShort{context.Cause(w.ctx)}
	}
	return context.Cause(w.ctx)
}
