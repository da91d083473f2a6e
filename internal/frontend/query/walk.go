package query

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// walk reads the store's list of runs, newest first, and picks those whose records fit a filter.
// Its pieces grow as long as it finds too few: scanning [mostLooked] runs takes a handful of reads.
type walk struct {
	f              *Reader
	tenant, thread string
	filter         filter
	size           int // of the next piece
}

// mostWalked is how many records one read of the store returns at most.
const mostWalked = 100

// start is the cursor that the walk begins at.
func (w *walk) start(cursor string) string {
	if cursor == "" && w.filter.Before != 0 {
		return w.f.Store.RunsBehind(w.filter.Before, "")
	}
	return cursor
}

// read reads one piece of at most room runs, and ends within it once n of them fit. A run older
// than the filter allows ends the list: all that follow are older.
func (w *walk) read(ctx context.Context, cursor string, n, room int) (piece[core.Record], error) {
	size := min(max(n, w.size), room)
	records, next, err := w.f.Store.Runs(ctx, w.tenant, w.thread, cursor, size)
	if err != nil {
		return piece[core.Record]{}, err
	}
	found := piece[core.Record]{next: next}
	for i, r := range records {
		if r.Born < w.filter.After {
			found.next = ""
			return found, nil
		}
		found.looked++
		if w.filter.fits(r) {
			found.rows = append(found.rows, r)
		}
		if len(found.rows) == n && i < len(records)-1 {
			found.next = w.f.Store.RunsBehind(r.Born, r.Run)
			break
		}
	}
	if w.size = n; len(found.rows) < n {
		w.size = min(2*size, mostWalked)
	}
	return found, nil
}

// shown reads the runs of records. The list may be stale, so the head decides: a run that no longer
// fits the filter is left out.
func (f *Reader) shown(ctx context.Context, c frontend.Caller, w filter, records []core.Record) ([]wire.Run, error) {
	var runs []wire.Run
	var e entries
	for _, r := range records {
		p, err := f.Find(ctx, c.Tenant, r.Run)
		if err == nil && !w.fits(p.Record) {
			e.read = true
			continue
		}
		var run wire.Run
		if err == nil {
			run, err = f.Show(ctx, p)
		}
		if err != nil {
			if err := e.failed(ctx, err); err != nil {
				return nil, err
			}
			run = runview.RunOf(r)
			run.Error = unreadable()
		}
		e.read = e.read || err == nil
		runs = append(runs, run)
	}
	return runs, e.end()
}

func weighRun(run wire.Run) int {
	weight := len(run.Output) + len(run.FirstLine)
	for _, p := range run.Pending {
		weight += runview.WeighPending(p)
	}
	return weight
}
