package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// noteRefused leaves word in the journal that a caller tried to decide who may not: auditors ask
// who tried. Like that of a misfit it is bounded, and a write that fails changes nothing.
func (f *Frontend) noteRefused(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, why error) {
	refused, ok := errors.AsType[*refusal.Error](why)
	tracked := p.Head.Calls[call.CallID]
	if !ok || refused.Code != refusal.CodeNotAnApprover && refused.Code != refusal.CodeSeparationOfDuties || !p.Accepts() ||
		!tracked.WaitsOn(call.Suspension.ID) || tracked.Refused >= planner.MostRefused {
		return
	}
	f.leaveWord(ctx, c, p, core.RefusedKey(tracked.Sus), core.Signal{Kind: core.SignalRefused, Call: call.CallID, Sus: tracked.Sus,
		Value: core.Encode(string(refused.Code))})
}

// leaveWord stores a signal that decides nothing, and that its run journals. While one with this
// key is in the inbox, no other is stored.
func (f *Frontend) leaveWord(ctx context.Context, c Caller, p journal.Place, key string, s core.Signal) {
	h := p.Head
	s.By, s.Via, s.At = c.By, c.Via, f.Now()
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: key, Signal: s,
		Call: s.Call, Suspension: s.Sus, Due: f.due(), Wake: &engine.Delay{}})
	if err == nil {
		f.wake(ctx, c.Tenant, h.Thread, w.Woken)
	}
}
