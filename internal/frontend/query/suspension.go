package query

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// Suspension finds what waits, or waited, under the id of a suspension alone. One of the two is
// set: the call while it waits, or what became of it. [refusal.CodeCallNotFound] also for an id
// that does not say its thread.
func (f *Reader) Suspension(ctx context.Context, c frontend.Caller, sus string) (*wire.Approval, *wire.Outcome, error) {
	p, err := f.SuspensionPlace(ctx, c.Tenant, sus)
	if err != nil {
		return nil, nil, err
	}
	if journal.OpenSuspensions(p)[sus] {
		shown, path, err := f.waitingWithPath(ctx, f.Family, p.Head)
		if err != nil {
			return nil, nil, err
		}
		for _, approval := range shown.ApprovalsIn(p.Head, path) {
			if approval.Suspension.ID == sus {
				return &approval, nil, nil
			}
		}
	}
	outcome, err := f.Outcome(ctx, c, p.Record.Run, sus)
	return nil, &outcome, err
}
