package engine

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Tracer is told what an activation spends its time on. It must be quick, and cannot fail.
type Tracer interface {
	// Begin is called before something that takes time: a claim, a commit, a read of the journal, a model call, a body. What runs inside
	// gets the context that it returns; end is called once, after it, with its error.
	Begin(ctx context.Context, name string) (inside context.Context, end func(error))
}

type untraced struct{}

func (untraced) Begin(ctx context.Context, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func traced[T any](ctx context.Context, e *Engine, name string, f func(context.Context) (T, error)) (T, error) {
	ctx, end := e.o.Tracer.Begin(ctx, name)
	v, err := f(ctx)
	end(err)
	return v, err
}

// account completes the report of an activation that claimed the run as head.
func (a *activation) account(head core.Head) {
	now, r := a.view.Head, &a.report
	r.Thread, r.Run, r.Epoch, r.Attempt = head.Thread, head.Run, head.Epoch, head.Tries
	r.Step, r.Status, r.TookOver = now.Step, now.Status, head.Orphaned()
	r.InputTokens, r.OutputTokens = now.InputTokens-head.InputTokens, now.OutputTokens-head.OutputTokens
	if now.Status == core.RunDone {
		r.End = now.End
	}
	if slept := head.AwakeSince == 0 && len(head.Calls) > 0; slept {
		r.Waited = max(0, a.began.Sub(time.UnixMilli(head.At)))
	}
}
