package sim

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// HandOver is one operation, or several if the inner store lets its parts be seen. No wake-up rides
// in it.
func (s Store) HandOver(ctx context.Context, req engine.HandOver) (bool, error) {
	req.Wake = false
	if inner, ok := s.Inner.(LineParts); ok {
		return false, s.handOverInParts(ctx, inner, req)
	}
	return write(ctx, s, "hand over", func(ctx context.Context) (bool, error) {
		woken, err := s.Inner.HandOver(ctx, req)
		s.Faults.World.tell(func() string {
			return fmt.Sprintf("hands event %d over to %s: %s", req.Event, req.Endpoint, toldError(err))
		})
		return woken, err
	})
}

func (s Store) handOverInParts(ctx context.Context, inner LineParts, req engine.HandOver) error {
	l, err := write(ctx, s, "hand over", func(context.Context) (notice.Line, error) {
		s.Faults.World.tell(func() string { return fmt.Sprintf("hands event %d over to %s", req.Event, req.Endpoint) })
		return inner.AddEntry(req), nil
	})
	for err == nil {
		_, dead := l.Trim(req.Key, inner.LineBound(), req.Now)
		if len(dead) == 0 {
			return nil
		}
		for _, r := range dead {
			if err := s.putRecord(ctx, inner, r); err != nil {
				return err
			}
		}
		adds := l.Adds
		l, err = write(ctx, s, "give up", func(context.Context) (notice.Line, error) {
			s.Faults.World.tell(func() string { return fmt.Sprintf("gives %d notices to %s up", len(dead), req.Endpoint) })
			return inner.RemoveEntries(req.Key, dead, adds), nil
		})
	}
	return err
}

func (s Store) putRecord(ctx context.Context, inner LineParts, r notice.Record) error {
	_, err := write(ctx, s, "put record", func(context.Context) (struct{}, error) { inner.PutRecord(r); return struct{}{}, nil })
	if err == nil && s.Recorded != nil {
		s.Recorded(ctx, r)
	}
	return err
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
	if inner, ok := s.Inner.(LineParts); ok {
		if req.Record != nil {
			if err := s.putRecord(ctx, inner, *req.Record); err != nil {
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

// LineParts is a store that stores the record of a notice before it writes the line, and adds a
// notice before it gives others up.
type LineParts interface {
	PutRecord(r notice.Record)
	AddEntry(req engine.HandOver) notice.Line
	RemoveEntries(k notice.Key, of []notice.Record, adds int64) notice.Line
	LineBound() notice.Bound
}
