package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const (
	listUrgent = "u"
	listMoved  = "m" // how the list ends: what was written while it was read

	// movingTime is how long the commit of a head may take that was written before a list began
	movingTime = 10_000
)

// urgentPage reads on behind a thread of key ?2 with ?4 questions, see [approvalsPage].
const urgentPage = "SELECT " + tables.HeadColumns + `, heads.urgent, heads.asks FROM heads WHERE tenant = ?1 AND urgent <> 0
	AND (urgent, asks, rowid) > (?2, ?4, ` + rowOfTie + `) AND (?5 = 0 OR at >= ?5) ORDER BY urgent, asks, rowid LIMIT ?6`

// urgentHead is a head at its place in the list.
type urgentHead struct {
	core.Head
	key  any
	asks int
}

// withKey scans the columns that are read beside those of the head.
type withKey struct {
	dbfile.Scanner
	of *urgentHead
}

func (s withKey) Scan(to ...any) error { return s.Scanner.Scan(append(to, &s.of.key, &s.of.asks)...) }

// place is where the head is in the list, as text: `1+1796430268919`.
func (h urgentHead) place() string { return fmt.Sprintf("%d+%v", h.asks, h.key) }

// urgency reverses [urgentHead.place]. A position that an earlier program gave out is before all
// runs of its time: their order was another.
func (p position) urgency() (key any, asks int, tie string) {
	count, text, ok := strings.Cut(p.Text, "+")
	if asks, err := strconv.Atoi(count); ok && err == nil {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			return at, asks, p.Tie
		}
		return text, asks, p.Tie
	}
	return tables.Urgent(p.Text), 0, ""
}

// Urgent implements query.UrgencyIndex.
//
// A run that asks something more urgent than before moves forward, and could move behind the reader
// unseen. So a list of several pages ends with what was written while it was read, also if it was
// listed before:
//
//	page 1 ends at 14:00 ── the run of 15:00 asks something until 13:00 ── page 2 lacks it
//	└── the last page has it
func (db *DB) Urgent(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	after, err := parseCursor(cursor, position{List: listUrgent, Number: max(db.now()-movingTime, 1)})
	since := int64(0)
	if err != nil {
		if after, err = parseCursor(cursor, position{List: listMoved}); err != nil {
			return nil, "", err
		}
		since = max(after.Number, 1)
	}
	limit = max(limit, 1)
	key, asks, tie := after.urgency()
	var found []urgentHead
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var one urgentHead
		err := listed(tables.ScanHead(withKey{s, &one}, &one.Head))
		found = append(found, one)
		return err
	}, urgentPage, tenant, key, tie, asks, since, limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(found, limit, func(h urgentHead) position {
		return position{List: after.List, Number: after.Number, Text: h.place(), Tie: h.Thread}
	})
	if next == "" && cursor != "" && after.List == listUrgent {
		next = position{List: listMoved, Number: after.Number}.cursor()
	}
	heads := make([]core.Head, 0, len(page))
	for _, one := range page {
		heads = append(heads, one.Head)
	}
	return heads, next, nil
}

// Questions implements query.UrgencyIndex. It reads the index alone.
func (db *DB) Questions(ctx context.Context, tenant string) (n int, err error) {
	const query = "SELECT coalesce(sum(asks), 0) FROM heads WHERE tenant = ? AND urgent <> 0"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&n) }, query, tenant)
	return n, err
}
