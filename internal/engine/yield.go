package engine

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/yields"
)

// Newest is what a run looks at that makes way for newer ones.
type Newest interface {
	// Runs lists the runs of a tenant, newest first. It need not know the last writes. The
	// thread and the cursor are empty.
	Runs(ctx context.Context, tenant, thread, cursor string, limit int) (records []core.Record, next string, err error)
}

// yields says whether the model's answer is dropped for others: because the engine's owner says
// so, or because the agent makes way for newer runs and one waits.
func (a *activation) yields(ctx context.Context) bool {
	if a.e.o.Control != nil && a.e.o.Control.ShouldYield(ctx, a.ref()) {
		return true
	}
	h := a.view.Head
	if a.e.o.Newest == nil || !a.view.Rules.Terms().Yield || !yields.May(h) {
		return false
	}
	newest, err := traced(ctx, a.e, "newest runs", func(ctx context.Context) ([]core.Record, error) {
		newest, _, err := a.e.o.Newest.Runs(ctx, h.Tenant, "", "", yields.Looked)
		return newest, err
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.e.o.Logger.Warn("the store cannot say whether a newer run waits; the run does not yield", "run", h.Run, "tenant", h.Tenant, "error", err)
		}
		return false
	}
	return yields.To(h, newest, a.now())
}
