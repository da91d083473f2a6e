package journal

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// How many segments are read at once: more and more while they are light, one by one once they are
// heavy, so that what is held in memory does not depend on what callers have sent.
const (
	firstPiece = 4
	mostPiece  = 64
)

// PageBytes is where a page ends even if more entries were asked for. One entry more may be above
// it.
const PageBytes = 1 << 20

// Journal visits the run's segments from the given one on, until visit says that it has enough. The
// head was read before, and nothing above it is visited, so that a segment no head has named is
// never seen.
func (r *Reader) Journal(ctx context.Context, p Place, from int64, visit func(core.Segment) bool) error {
	return r.Segments(ctx, p.Head.Tenant, p.Head.Thread, from, p.Record.Seq, visit)
}

func (r *Reader) Segments(ctx context.Context, tenant, thread string, from, to int64, visit func(core.Segment) bool) error {
	var before *core.Segment
	for count := int64(firstPiece); from <= to; {
		last := min(from+count-1, to)
		piece, err := storecall.Try(ctx, r.Clock, func() ([]core.Segment, error) { return r.store.Segments(ctx, tenant, thread, from, last) })
		if err != nil {
			return err
		}
		if int64(len(piece)) != last-from+1 {
			return fmt.Errorf("journal: thread %s: %d segments from %d to %d: %w", thread, len(piece), from, last, errTorn)
		}
		for i, s := range piece {
			if s.Seq != from+int64(i) || before != nil && s.Prev != before.W {
				return fmt.Errorf("journal: thread %s: segment %d: %w", thread, s.Seq, errTorn)
			}
			before = &piece[i]
			if !visit(s) {
				return nil
			}
		}
		from, count = last+1, nextPiece(count, piece)
	}
	return nil
}

func nextPiece(count int64, read []core.Segment) int64 {
	weight := 0
	for _, s := range read {
		for _, m := range s.Messages {
			for _, p := range m.Parts {
				weight += len(p.Text) + len(p.Data) + len(p.Sealed)
			}
		}
		for _, e := range s.Events {
			weight += len(e.Data)
		}
	}
	if weight > PageBytes/4 {
		return 1
	}
	return min(2*count, mostPiece)
}

// errTorn: the journal is not the chain that the head says it is.
var errTorn = fmt.Errorf("journal: the segments do not fit their head: %w: %w", engine.ErrUnavailable, engine.ErrUnreadable)

func (r *Reader) Segment(ctx context.Context, p Place, seq int64) (core.Segment, error) {
	var found core.Segment
	err := r.Segments(ctx, p.Head.Tenant, p.Head.Thread, seq, seq, func(s core.Segment) bool {
		found = s
		return false
	})
	return found, err
}

// Collect reads up to limit entries of the segments up to to, from at on, and says where to go on.
// It stops early, but never without an entry, once they weigh most bytes.
func Collect[T any](ctx context.Context, r *Reader, h core.Head, at Cursor, to int64, limit, most int, entries func(core.Segment) []T, weigh func(T) int) ([]T, Cursor, error) {
	leave, err := r.Pages.Take(ctx, h.Tenant)
	if err != nil {
		return nil, at, err
	}
	defer leave()
	items, weight := []T{}, 0
	err = r.Segments(ctx, h.Tenant, h.Thread, at.Seq, to, func(s core.Segment) bool {
		all := entries(s)
		if s.Seq != at.Seq {
			at = Cursor{Seq: s.Seq}
		}
		at.Read = min(at.Read, len(all))
		for at.Read < len(all) && len(items) < limit && weight < most {
			items = append(items, all[at.Read])
			weight += weigh(all[at.Read])
			at.Read++
		}
		if at.Read == len(all) {
			at = Cursor{Seq: s.Seq + 1}
		}
		return len(items) < limit && weight < most
	})
	return items, at, err
}
