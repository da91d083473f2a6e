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
	for count := int64(firstPiece); at.Seq >= 1 && !full(); {
		var piece []core.Segment
		err := r.Segments(ctx, h.Tenant, h.Thread, max(at.Seq-count+1, 1), at.Seq, func(s core.Segment) bool {
			piece = append(piece, s)
			return true
		})
		if err != nil {
			return items, at, err
		}
		for _, s := range slices.Backward(piece) {
			all := entries(s)
			at.Read = min(at.Read, len(all))
			for at.Read < len(all) && !full() {
				one := all[len(all)-1-at.Read]
				items, weight, at.Read = append(items, one), weight+weigh(one), at.Read+1
			}
			if at.Read < len(all) {
				return items, at, nil
			}
			at = Newest{Seq: s.Seq - 1}
		}
		count = nextPiece(count, piece)
	}
	return items, at, nil
}
