package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// UrgencyIndex is a store that finds what is most urgent without reading the rest. For stores
// without it, [windows] puts what waits in order.
type UrgencyIndex interface {
	// Urgent lists heads as Approvals of the store does, in the order of [waits.Urgency]. A run
	// that stays open while its list is read is in it at least once; one that was written
	// meanwhile may be in it twice.
	Urgent(ctx context.Context, tenant, cursor string, limit int) (heads []core.Head, next string, err error)

	// Questions sums [waits.Questions] over the runs of a tenant.
	Questions(ctx context.Context, tenant string) (int, error)
}

// urgent is how the inbox of a tenant is read by urgency.
func (f *Reader) urgent(tenant string) func(ctx context.Context, cursor string, n int) ([]core.Head, string, error) {
	if index, has := f.Store.(UrgencyIndex); has {
		return func(ctx context.Context, cursor string, n int) ([]core.Head, string, error) {
			return index.Urgent(ctx, tenant, cursor, n)
		}
	}
	return Windows(f.Store, tenant, f.Now())
}

// Windows lists what waits in a tenant by urgency, for a store that has no index of it. Now is in
// milliseconds.
func Windows(store frontend.RunIndex, tenant string, now int64) func(ctx context.Context, cursor string, n int) ([]core.Head, string, error) {
	return (&windows{store: store, tenant: tenant, now: now, of: windowOf, piece: windowPiece}).page
}

const (
	windowOf    = 500 // runs that are put in order at a time
	windowPiece = 100
	// how long the commit of a head may take that was written before a list began, in ms
	movingTime = 10_000
)

// windows lists what waits in windows of [windowOf] runs, the longest waiting first, each put in
// order by urgency. Where a window ends stays as it is while it is read: what comes and goes moves
// no run past the reader. A run that moved forward is listed where its window ends.
type windows struct {
	store  frontend.RunIndex
	tenant string
	now    int64
	of     int // runs in a window
	piece  int // that are read at once

	read *window // the one that was read last
}

type window struct {
	at    windowCursor
	heads []core.Head
	end   string // the greatest [core.Waits.Oldest] in it
	store string // the store's cursor of the piece in which it ends
	more  bool
}

type windowCursor struct {
	Store string `json:"w,omitempty"` // the store's cursor
	After string `json:"s,omitempty"` // the window has what waits for less long than this
	Until string `json:"e,omitempty"` // and no less long than this; empty: the first page of it
	Key   string `json:"k,omitempty"` // the urgency after which its page begins
	Begun int64  `json:"t,omitempty"` // when the list was begun
}

func (w *windows) page(ctx context.Context, cursor string, n int) (page []core.Head, next string, err error) {
	at := windowCursor{Begun: w.now}
	if cursor != "" && !journal.DecodeCursor(cursor, &at) {
		return nil, "", engine.ErrRefused
	}
	all := w.read
	if cursor == "" || all == nil || all.at.Store != at.Store || all.at.After != at.After || at.Until != "" && at.Until != all.end {
		if all, err = w.load(ctx, at); err != nil {
			return nil, "", err
		}
		w.read = all
	}
	var moved []core.Head
	for i, h := range all.heads {
		if key := waits.Urgency(h); key > at.Key {
			if page = append(page, h); len(page) == n && i < len(all.heads)-1 {
				at.Until, at.Key = all.end, key
				return page, journal.EncodeCursor(at), nil
			}
		} else if at.Key != "" && h.At >= at.Begun-movingTime {
			moved = append(moved, h)
		}
	}
	if all.more {
		next = journal.EncodeCursor(windowCursor{Store: all.store, After: all.end, Begun: at.Begun})
	}
	return append(page, moved...), next, nil
}

// load reads a window.
func (w *windows) load(ctx context.Context, at windowCursor) (*window, error) {
	all := &window{at: at, store: at.Store, end: at.Until}
	for cursor := at.Store; ; {
		heads, next, err := w.store.Approvals(ctx, w.tenant, cursor, w.piece)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			switch {
			case h.Oldest <= at.After:
				continue
			case at.Until != "" && h.Oldest > at.Until, at.Until == "" && len(all.heads) == w.of:
				all.more = true
			default:
				all.heads, all.store = append(all.heads, h), cursor
				if at.Until == "" {
					all.end = h.Oldest
				}
			}
			if all.more {
				break
			}
		}
		if cursor = next; cursor == "" || all.more {
			slices.SortFunc(all.heads, func(a, b core.Head) int {
				return cmp.Or(strings.Compare(waits.Urgency(a), waits.Urgency(b)), strings.Compare(a.Thread, b.Thread))
			})
			return all, nil
		}
	}
}
