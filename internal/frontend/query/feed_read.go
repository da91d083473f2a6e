package query

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// fate is what is known of a segment in the feed.
type fate uint8

const (
	undecided fate = iota // no head has named a segment of its number
	unread                // what is stored cannot be read, so its state is unknown
	committed             // it is in the journal
	orphaned              // another segment has its number
)

// journalReader looks up which segments are committed. It reads each thread's head once, so that
// all its answers about a thread come from one snapshot: in it, no segment is committed while an
// earlier one is undecided.
type journalReader struct {
	f      *Reader
	tenant string
	heads  map[string]headRead
	entries
}

type headRead struct {
	core.Head
	unread bool
}

func (f *Reader) journalReader(tenant string) *journalReader {
	return &journalReader{f: f, tenant: tenant, heads: map[string]headRead{}}
}

// head is a thread's; unread if what is stored of it cannot be read.
func (r *journalReader) head(ctx context.Context, thread string) (headRead, error) {
	if h, read := r.heads[thread]; read {
		return h, nil
	}
	h, err := r.f.Load(ctx, r.tenant, thread)
	switch {
	case errors.Is(err, engine.ErrNotFound):
	case err != nil:
		if err := r.failed(ctx, err); err != nil {
			return headRead{}, err
		}
		r.heads[thread] = headRead{unread: true}
		return r.heads[thread], nil
	}
	r.read = true
	r.heads[thread] = headRead{Head: h}
	return r.heads[thread], nil
}

// segment reads a segment of the feed and reports whether it is in the journal. A head names one
// segment for each number, and a store returns the named one of several once a head names it;
// before that, none is shown.
//
//	put 5 (w 11) ── listed ── refused: a signal ── put 5 (w 12) ── listed ── head: w 12
//	                undecided                      undecided                 w 11 is orphaned
func (r *journalReader) segment(ctx context.Context, thread string, seq int64, w core.Stamp) (s core.Segment, is fate, err error) {
	h, err := r.head(ctx, thread)
	switch {
	case err != nil || h.unread:
		return s, unread, err
	case h.Seq < seq:
		return s, undecided, nil
	}
	found, err := storecall.Try(ctx, r.f.Clock, func() ([]core.Segment, error) { return r.f.Store.Segments(ctx, r.tenant, thread, seq, seq) })
	switch {
	case err != nil:
		return s, unread, r.failed(ctx, err)
	case len(found) != 1 || found[0].Seq != seq || found[0].W != w:
		return s, orphaned, nil
	}
	return found[0], committed, nil
}

// record is that of a run of a thread whose head was read.
func (r *journalReader) record(ctx context.Context, thread, run string) (journal.Place, error) {
	h, err := r.head(ctx, thread)
	switch {
	case err != nil:
		return journal.Place{}, err
	case h.Run == run:
		return journal.Place{Head: h.Head, Record: h.Record(), Current: true}, nil
	}
	record, err := storecall.Try(ctx, r.f.Clock, func() (core.Record, error) { return r.f.Store.Archived(ctx, r.tenant, run) })
	return journal.Place{Head: h.Head, Record: record}, err
}
