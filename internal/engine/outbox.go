package engine

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// send works off the outbox. An entry that cannot be sent now stays and doesn't block the ones
// behind it. The agent's memory is called once, and its failure never keeps a run from being done.
// An error means that the journal could not be read for the memory: the next activation sends.
func (a *activation) send(ctx context.Context, keys []string) error {
	for _, key := range keys {
		sent := plans.Sent{Key: key}
		out := a.view.Head.Out[key]
		if out.Kind == planner.OutMemory {
			failure, err := a.commitMemory(ctx)
			if err != nil {
				return err
			}
			sent.Failed = failure
		} else if err := a.sendOne(ctx, out); err != nil {
			a.e.o.Logger.Warn("not sent", "run", a.view.Head.Run, "entry", key, "error", err)
			a.view.NotSent = true
			continue
		}
		a.view.Sent = append(a.view.Sent, sent)
	}
	return nil
}

func (a *activation) sendOne(ctx context.Context, out core.Out) error {
	h := a.view.Head
	seq, ok := core.SuspensionSeq(out.Sus)
	if out.Kind != planner.OutNotify || !ok || a.e.o.Notifier == nil {
		return nil // no suspension or notifier to send a notice for
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
