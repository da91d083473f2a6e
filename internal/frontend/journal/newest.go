package journal

import (
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Newest is a place in a thread's journal that is read from its end: the segment to read next, and
// how many of its last entries were read.
type Newest struct {
	Seq  int64  `json:"down"`
	Read int    `json:"read,omitempty"`
	Mark string `json:"of"`
}

// ReadNewest reads a cursor of [Newest.Of] for the thread; empty is its end, which is at segment
// to. One that belongs to the other order is refused.
func ReadNewest(text, thread string, to int64) (Newest, error) {
	if text == "" {
		return Newest{Seq: to}, nil
	}
	var at Newest
	if !DecodeCursor(text, &at) || at.Mark != CursorMark(thread) || at.Seq < 1 || at.Seq > to || at.Read < 0 {
		return at, BadCursor()
	}
	return at, nil
}

// Of is the cursor as callers have it, opaque, for this thread alone; empty at the beginning.
func (n Newest) Of(thread string) string {
	if n.Seq < 1 {
		return ""
	}
	n.Mark = CursorMark(thread)
	return EncodeCursor(n)
}

// CollectNewest reads up to limit entries of the segments from at down, the last entry first, and
// says where to go on. It stops early, but never without an entry, once they weigh most bytes. What
// it reads depends on how much is wanted, not on how long the journal is: it is append-only, so
// that a place in it stays where it is.
func CollectNewest[T any](ctx context.Context, r *Reader, h core.Head, at Newest, limit, most int, entries func(core.Segment) []T, weigh func(T) int) ([]T, Newest, error) {
	leave, err := r.Pages.Take(ctx, h.Tenant)
	if err != nil {
		return nil, at, err
	}
	defer leave()
	items, weight := []T{}, 0
	full := func() bool { return len(items) >= limit || weight >= most }
	err = r.down(ctx, h, 1, at.Seq, func(s core.Segment) bool {
		all := entries(s)
		at.Read = min(at.Read, len(all))
		for at.Read < len(all) && !full() {
			one := all[len(all)-1-at.Read]
			items, weight, at.Read = append(items, one), weight+weigh(one), at.Read+1
		}
		if at.Read == len(all) {
			at = Newest{Seq: s.Seq - 1}
		}
		return !full()
	})
	return items, at, err
}

// CollectBefore is [Collect] in the other direction: it reads the entries before a place, down to
// the segment from, the last entry first. The place that it returns is one for [Collect] too: what
// it says is between the same entries in both directions.
func CollectBefore[T any](ctx context.Context, r *Reader, h core.Head, at Cursor, from int64, limit, most int, entries func(core.Segment) []T, weigh func(T) int) ([]T, Cursor, error) {
	leave, err := r.Pages.Take(ctx, h.Tenant)
	if err != nil {
		return nil, at, err
	}
	defer leave()
	items, weight, to := []T{}, 0, at.Seq
	if at.Read == 0 {
		to--
	}
	err = r.down(ctx, h, from, to, func(s core.Segment) bool {
		all := entries(s)
		if s.Seq != at.Seq {
			at = Cursor{Seq: s.Seq, Read: len(all)}
		}
		at.Read = min(at.Read, len(all))
		for at.Read > 0 && len(items) < limit && weight < most {
			at.Read--
			items = append(items, all[at.Read])
			weight += weigh(all[at.Read])
		}
		return len(items) < limit && weight < most
	})
	return items, at, err
}

// down visits the segments from..to, the last first, until visit says that it has enough.
func (r *Reader) down(ctx context.Context, h core.Head, from, to int64, visit func(core.Segment) bool) error {
	for count := int64(firstPiece); to >= from; {
		var piece []core.Segment
		err := r.Segments(ctx, h.Tenant, h.Thread, max(to-count+1, from), to, func(s core.Segment) bool {
			piece = append(piece, s)
			return true
		})
		if err != nil {
			return err
		}
		for _, s := range slices.Backward(piece) {
			if !visit(s) {
				return nil
			}
		}
		to, count = piece[0].Seq-1, nextPiece(count, piece)
	}
	return nil
}
