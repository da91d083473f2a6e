package frontend

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
)

func (f *Frontend) holds() holds.Holds {
	return holds.Holds{Reader: f.Reader, Send: f.send, Wake: f.wake}
}

// wakeAt sends the wake-up for a decision that is applied at a time; 0: at once.
func (f *Frontend) wakeAt(ctx context.Context, h core.Head, woken bool, at int64) {
	if !woken {
		delay := max(0, time.UnixMilli(at).Sub(f.Clock.Now()))
		_ = f.waker.Send(context.WithoutCancel(ctx), engine.Wakeup{Tenant: h.Tenant, Thread: h.Thread}, delay)
	}
}

// Withdraw takes a held decision back: from then on it is as if it had not been made, but for the
// journal. Only its caller may. Withdrawing it again has no further effect.
func (f *Frontend) Withdraw(ctx context.Context, c Caller, sus, decision string) (wire.DecisionAnswer, error) {
	return f.holds().Withdraw(ctx, c.Tenant, holds.Of(c.By, c.Link), sus, decision)
}
