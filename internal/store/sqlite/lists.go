package sqlite

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// Archived implements frontend.Store.
func (db *DB) Archived(ctx context.Context, tenant, run string) (r core.Record, err error) {
	const query = "SELECT run, thread, born, body FROM archive WHERE tenant = ? AND run = ?"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanRecord(s, &r) }, query, tenant, run)
	return r, err
}

func scanRecord(s dbfile.Scanner, r *core.Record) error {
	known := core.Record{Status: core.RunDone}
	var raw []byte
	if err := s.Scan(&known.Run, &known.Thread, &known.Born, &raw); err != nil {
		return dbfile.Unavailable(err)
	}
	if err := json.Unmarshal(raw, r); err != nil {
		*r = known
		r.At = r.Born
		return tables.Unreadable("record of run "+known.Run, err)
	}
	return nil
}

// The two halves of the list of runs of a tenant or a thread.
const (
	headPage    = "SELECT " + tables.HeadColumns + " FROM heads WHERE tenant = ?1 AND (born, run) < (?2, ?3)"
	archivePage = "SELECT run, thread, born, body FROM archive WHERE tenant = ?1 AND (born, run) < (?2, ?3)"
	ofThread    = " AND thread = ?5"
	newestFirst = " ORDER BY born DESC, run DESC LIMIT ?4"
)

// Runs implements frontend.Store.
//
// It reads heads before the archive: a run that moves from one to the other in between is found
// twice and listed once. In the other order it would be missed.
func (db *DB) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	after, err := parseCursor(cursor, position{List: listRuns, Number: math.MaxInt64})
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	heads, archive := headPage+newestFirst, archivePage+newestFirst
	args := []any{tenant, after.Number, after.Text, limit + 1}
	if thread != "" {
		heads, archive = headPage+ofThread+newestFirst, archivePage+ofThread+newestFirst
		args = append(args, thread)
	}
	var records []core.Record
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var h core.Head
		err := listed(tables.ScanHead(s, &h))
		records = append(records, h.Record())
		return err
	}, heads, args...)
	if err != nil {
		return nil, "", err
	}
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var r core.Record
		err := listed(scanRecord(s, &r))
		records = append(records, r)
		return err
	}, archive, args...)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(mergeRuns(records), limit, func(r core.Record) position { return behindRun(r.Born, r.Run) })
	return page, next, nil
}

// RunsBehind implements frontend.Store.
func (db *DB) RunsBehind(born int64, run string) string { return behindRun(born, run).cursor() }

func behindRun(born int64, run string) position {
	return position{List: listRuns, Number: born, Text: run}
}

func mergeRuns(records []core.Record) []core.Record {
	slices.SortStableFunc(records, func(a, b core.Record) int {
		return cmp.Or(cmp.Compare(b.Born, a.Born), cmp.Compare(b.Run, a.Run))
	})
	return slices.CompactFunc(records, func(a, b core.Record) bool { return a.Run == b.Run })
}

// approvalsPage reads on behind a thread of time ?2. That thread's own row says where it is among
// those of the same time. With > in place of <> the index could be read from its start.
const approvalsPage = "SELECT " + tables.HeadColumns + ` FROM heads WHERE tenant = ?1 AND oldest <> 0
	AND (oldest, rowid) > (?2, ` + rowOfTie + `) ORDER BY oldest, rowid LIMIT ?4`

const rowOfTie = "coalesce((SELECT t.rowid FROM heads t WHERE t.tenant = ?1 AND t.thread = ?3), 0)"

// Approvals implements frontend.Store.
func (db *DB) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	after, err := parseCursor(cursor, position{List: listApprovals})
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	place, tie := after.waiting()
	var heads []core.Head
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var h core.Head
		err := listed(tables.ScanHead(s, &h))
		heads = append(heads, h)
		return err
	}, approvalsPage, tenant, place, tie, limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(heads, limit, behindWaiting)
	return page, next, nil
}

// otherForm is the number of a position whose text is no time, see [tables.Oldest].
const otherForm = -1

func behindWaiting(h core.Head) position {
	if at, ok := tables.Oldest(h.Oldest, h.Run).(int64); ok {
		return position{List: listApprovals, Number: at, Tie: h.Thread}
	}
	return position{List: listApprovals, Number: otherForm, Text: h.Oldest, Tie: h.Thread}
}

// waiting is a position in the list of approvals as [approvalsPage] takes it. A position that an
// earlier program gave out is before all runs of its time: their order was another.
func (p position) waiting() (place any, tie string) {
	switch {
	case p.Number > 0:
		return p.Number, p.Tie
	case p.Number == otherForm:
		return p.Text, p.Tie
	case p.Text != "":
		return tables.Since(p.Text), ""
	}
	return 0, ""
}

const (
	listRuns      = "r"
	listApprovals = "a"
)

// position is where a page ended.
type position struct {
	List   string `json:"l"`
	Number int64  `json:"n,omitempty"`
	Text   string `json:"s,omitempty"`
	Tie    string `json:"t,omitempty"`
}

func cutPage[T any](rows []T, limit int, at func(T) position) (page []T, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	page = rows[:limit:limit]
	return page, at(page[limit-1]).cursor()
}

func (p position) cursor() string { return base64.RawURLEncoding.EncodeToString(core.Encode(p)) }

func parseCursor(cursor string, first position) (position, error) {
	if cursor == "" {
		return first, nil
	}
	var p position
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.List != first.List {
		return position{}, fmt.Errorf("%w: %q is not a valid cursor for this list", engine.ErrRefused, cursor)
	}
	return p, nil
}
