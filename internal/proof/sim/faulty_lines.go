package sim

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// HandOver is one operation. No wake-up rides in it.
func (s Store) HandOver(ctx context.Context, req engine.HandOver) (bool, error) {
	req.Wake = false
	return write(ctx, s, "hand over", func(ctx context.Context) (bool, error) {
		woken, err := s.Inner.HandOver(ctx, req)
		s.Faults.World.tell(func() string {
			return fmt.Sprintf("hands event %d over to %s: %s", req.Event, req.Endpoint, toldError(err))
		})
		return woken, err
	})
}

func (s Store) ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error) {
	return write(ctx, s, "claim line", func(ctx context.Context) (notice.Line, error) {
		l, err := s.Inner.ClaimLine(ctx, req)
		s.Faults.World.tell(func() string {
			return fmt.Sprintf("claims the line to %s under epoch %d, with %d entries: %s", req.Endpoint, l.Epoch, len(l.Entries), toldError(err))
		})
		return l, err
	})
}

// WriteLine is one operation, or two if the inner store lets its halves be seen.
func (s Store) WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error) {
	if inner, ok := s.Inner.(lineHalves); ok {
		if req.Record != nil {
			if _, err := write(ctx, s, "put record", func(context.Context) (struct{}, error) { inner.PutRecord(*req.Record); return struct{}{}, nil }); err != nil {
				return notice.Line{}, err
			}
		}
		req.Record = nil
	}
	return write(ctx, s, "write line", func(ctx context.Context) (notice.Line, error) {
		l, err := s.Inner.WriteLine(ctx, req)
		s.Faults.World.tell(func() string {
			return fmt.Sprintf("writes event %d of the line to %s (kept: %v, given up: %v): %s", req.Event, req.Endpoint, req.Entry != nil, req.Release, toldError(err))
		})
		return l, err
	})
}

// lineHalves is a store that stores the record of a notice before it writes the line.
type lineHalves interface{ PutRecord(r notice.Record) }
