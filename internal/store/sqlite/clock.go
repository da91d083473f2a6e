package sqlite

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Times are stored as the wall clock shows them. If a clock is set back, the stored times lie ahead
// of it, and their work would wait. Except for deadlines, which people and agents choose, no time
// lies further ahead than a pause or a lease is long, so a time beyond that shows that the clock
// was wrong.

// slackAhead is the tolerated difference between the clocks of one machine when times are compared
// with the longest pause.
const slackAhead = time.Minute

// farWakeups finds wake-ups that are further ahead than any delay, or hidden for longer than a
// delivery; farHeads finds runs that are due, owned or paused for longer than is possible.
const (
	farWakeups = `WITH RECURSIVE line(tenant) AS (SELECT min(tenant) FROM queue
			UNION ALL SELECT (SELECT min(tenant) FROM queue WHERE tenant > line.tenant) FROM line WHERE tenant IS NOT NULL)
		SELECT EXISTS (SELECT 1 FROM line WHERE (SELECT max(visible_at) FROM queue WHERE queue.tenant = line.tenant) > ?1
			OR (SELECT max(visible_at) FROM queue WHERE queue.tenant = line.tenant AND receipt <> '') > ?2)`
	farIntake = "SELECT EXISTS (SELECT 1 FROM intake WHERE visible_at > min(?1, ?2))"
	farHeads  = `SELECT EXISTS (SELECT 1 FROM heads WHERE due > 0 AND due > ?2 AND st <> 3
		AND (lease > ?2 OR lease = 0 AND not_before > ?1 OR lease = 0 AND due > ?1 AND (st <> 2 OR due <> dl)))`
)

// FarAhead reports whether a stored time is further ahead than is possible, because the clock was
// ahead when it was stored. With whole it also checks the runs, which takes longer.
func (db *DB) FarAhead(ctx context.Context, whole bool) (far bool, err error) {
	now := db.now()
	longest, owned := now+pause.Longest+slackAhead.Milliseconds(), now+db.visibility.Milliseconds()+slackAhead.Milliseconds()
	queries := []string{farWakeups, farIntake}
	if whole {
		queries = append(queries, farHeads)
	}
	for _, query := range queries {
		if err := db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&far) }, query, longest, owned); err != nil || far {
			return far, err
		}
	}
	return false, nil
}

// The statements of Recall: ?1 is now, ?2 the furthest possible time, and ?3 how far the clock was
// set back, if that is known. A wake-up that comes too early is dropped; a living owner keeps its
// entire lease, counted from now.
const (
	recallWakeups    = "UPDATE queue SET " + sooner + " WHERE receipt = '' AND " + ahead
	recallIntake     = "UPDATE intake SET " + sooner + " WHERE receipt = '' AND " + ahead
	recallDeliveries = "UPDATE queue SET visible_at = ?1 WHERE receipt <> '' AND visible_at > ?1"
	recallHandovers  = "UPDATE intake SET visible_at = ?1 WHERE receipt <> '' AND visible_at > ?1"
	recallLeases     = "UPDATE heads SET lease = ?1, due = min(due, ?1) WHERE due > 0 AND lease > ?1 AND st <> 3"
	recallPauses     = "UPDATE heads SET not_before = " + soonerPause + ", due = " + soonerDue + " WHERE " + dueAhead + " AND st IN (0, 1) AND not_before > ?1"
	recallDue        = "UPDATE heads SET due = " + soonerDue + " WHERE " + dueAhead + " AND (st IN (0, 1) AND not_before <= ?1 OR st = 2 AND due <> dl)"

	sooner      = "visible_at = CASE WHEN visible_at > ?2 THEN ?1 ELSE max(?1, visible_at - ?3) END"
	ahead       = "visible_at > CASE WHEN ?3 > 0 THEN ?1 ELSE ?2 END"
	soonerDue   = "CASE WHEN due > ?2 THEN ?1 ELSE max(?1, due - ?3) END"
	soonerPause = "CASE WHEN not_before > ?2 THEN ?1 ELSE max(?1, not_before - ?3) END"
	dueAhead    = "lease = 0 AND due > 0 AND due > CASE WHEN ?3 > 0 THEN ?1 ELSE ?2 END"
)

// Recall corrects times that are stored too far ahead, and moves everything that waits by the
// amount that the clock was set back; zero if that is unknown. Deadlines stay, because they are
// times of the wall clock. It returns how many entries it changed.
func (db *DB) Recall(ctx context.Context, setBack time.Duration) (changed int, err error) {
	return write(ctx, db, func(t *tx) (int, error) {
		now := db.now()
		longest, sum := now+pause.Longest, 0
		back, hidden := setBack.Milliseconds(), now+db.visibility.Milliseconds()
		// the intake queue has no long pauses
		paused, line, owned := []any{now, longest, back}, []any{now, hidden, back}, []any{hidden}
		for _, c := range []struct {
			query string
			args  []any
		}{{recallWakeups, paused}, {recallIntake, line}, {recallDeliveries, owned}, {recallHandovers, owned}, {recallLeases, owned}, {recallPauses, paused}, {recallDue, paused}} {
			n, err := t.Exec(c.query, c.args...)
			if err != nil {
				return 0, err
			}
			sum += int(n)
		}
		t.Notify(arrival{})
		return sum, nil
	})
}
