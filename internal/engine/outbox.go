package engine

import (
	"context"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// send works off the outbox. An entry that cannot be sent now stays and doesn't block the ones
// behind it. The agent's memory is called once, and its failure never keeps a run from being done.
// An error means that the journal could not be read for the memory: the next activation sends.
func (a *activation) send(ctx context.Context, keys []string) error {
	for _, key := range keys {
		sent := plans.Sent{Key: key}
		out := a.view.Head.Out[key]
		if out.Kind == core.OutMemory {
			failure, err := a.commitMemory(ctx)
			if err != nil {
				return err
			}
			sent.Failed = failure
		} else if err := a.sendOne(ctx, key, out); err != nil {
			a.e.o.Logger.Warn("not sent", "run", a.view.Head.Run, "kind", out.Kind, "entry", key, "error", err)
			a.view.NotSent = true
			continue
		}
		a.view.Sent = append(a.view.Sent, sent)
	}
	return nil
}

// sendOne sends an entry. There is nothing to send for one that an older program wrote, or whose
// subscribers are gone.
func (a *activation) sendOne(ctx context.Context, key string, out core.Out) error {
	_, sus, _ := strings.Cut(key, ":")
	switch out.Kind {
	case core.OutNotices:
		if len(a.subscriptions) > 0 {
			return a.handOver(ctx, out)
		}
	case core.OutLaunch:
		return a.launch(ctx, sus)
	case core.OutInterrupt:
		return a.signalChild(ctx, sus, core.InterruptKey(out.ID), core.Signal{Kind: core.SignalPause, ID: out.ID, Via: core.ViaAgent})
	case core.OutContinue:
		return a.signalChild(ctx, sus, core.ContinueKey(out.ID), core.Signal{Kind: core.SignalContinue, ID: out.ID, Via: core.ViaAgent})
	case core.OutCancel:
		return a.signalChild(ctx, sus, core.KeyCancel, a.cancelOfChild())
	case core.OutTell:
		return a.tellParent(ctx)
	case core.OutStop:
		return a.stopPeer(ctx)
	}
	return nil
}
