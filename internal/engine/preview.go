package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// previewTime is what reading a preview may take, all of a round together no more than an eighth of
// the activation: until they are read no approver is asked, and a cancel is not looked at.
const previewTime = 10 * time.Second

// preview calls a tool that only reads, so that an approver is shown what is there now. What goes
// wrong is said in its place: the question is asked either way. Nothing of it but its text is kept.
func (a *activation) preview(ctx context.Context, read core.ToolCall) error {
	out, err := a.readPreview(ctx, read)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done := plans.Previewed{Call: read.ID}
	switch {
	case err != nil:
		a.e.o.Logger.Warn("a preview could not be made", "run", a.view.Head.Run, "tool", read.Name, "error", err)
		done.Failed = cmp.Or(err.Error(), noReason)
	case out.Ticket != nil:
		done.Failed = read.Name + " asked for something itself."
	case out.Failed:
		done.Failed = cmp.Or(out.Text, noReason)
	default:
		done.Text = out.Text
	}
	a.view.Previews = append(a.view.Previews, done)
	return nil
}

const noReason = "the tool failed and gave no reason."

func (a *activation) readPreview(ctx context.Context, read core.ToolCall) (core.Outcome, error) {
	tool, ok := a.agent.Tools[read.Name]
	if !ok {
		return core.Outcome{}, fmt.Errorf("the tool %q is no longer available", read.Name)
	}
	if len(a.view.Previews) == 0 {
		a.previewing = 0
	}
	limit := min(previewTime, (a.e.o.Lease-a.e.o.Margin)/8-a.previewing, a.timeLeft())
	if limit <= 0 {
		return core.Outcome{}, errors.New("there was no time left for it")
	}
	began := a.e.o.Clock.Now()
	defer func() { a.previewing += a.e.o.Clock.Now().Sub(began) }()
	h := a.view.Head
	// its own: what is there now is wanted, not an earlier answer
	key := fmt.Sprintf("%s/%s/%d.%d", h.Run, read.ID, h.Epoch, a.view.Put)
	req := ToolRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Call: read, Epoch: h.Epoch, Key: key, State: pad.New(a.view.State), Progress: func(Progress) {}}
	return within(ctx, a, limit, func(ctx context.Context) (core.Outcome, error) {
		out, err := traced(ctx, a.e, "preview "+read.Name, func(ctx context.Context) (core.Outcome, error) { return tool.Run(ctx, req) })
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, err
	})
}
