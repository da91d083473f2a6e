package query

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
)

// TookBack says whether it was this caller who withdrew the newest of the withdrawn decisions on a
// suspension: the same principal, by the same link if there is one.
func (f *Reader) TookBack(ctx context.Context, c frontend.Caller, sus string) (bool, error) {
	p, err := f.SuspensionPlace(ctx, c.Tenant, sus)
	if err != nil {
		return false, err
	}
	last, err := holds.Holds{Reader: f.Reader}.LastUndone(ctx, p, sus)
	return err == nil && last != holds.By{} && last == holds.Of(c.By, c.Link), err
}
