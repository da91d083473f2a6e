package sqlite

import (
	"context"

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

const urgentPage = "SELECT " + tables.HeadColumns + `, heads.urgent FROM heads WHERE tenant = ?1 AND urgent <> '' AND (urgent, thread) > (?2, ?3)
	AND (?4 = 0 OR NOT json_valid(body) OR body ->> '$.at' >= ?4) ORDER BY urgent, thread LIMIT ?5`

// urgentHead is a head at its place in the list.
type urgentHead struct {
	core.Head
	key string
}

// withKey scans one more column than the head has.
type withKey struct {
	dbfile.Scanner
	key *string
}

func (s withKey) Scan(to ...any) error { return s.Scanner.Scan(append(to, s.key)...) }

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
	var found []urgentHead
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var one urgentHead
		err := listed(tables.ScanHead(withKey{s, &one.key}, &one.Head))
		found = append(found, one)
		return err
	}, urgentPage, tenant, after.Text, after.Tie, since, limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(found, limit, func(h urgentHead) position {
		return position{List: after.List, Number: after.Number, Text: h.key, Tie: h.Thread}
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
	const query = "SELECT coalesce(sum(asks), 0) FROM heads WHERE tenant = ? AND urgent <> ''"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&n) }, query, tenant)
	return n, err
}
