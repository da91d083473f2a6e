package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// perMilli is how many positions of a feed a millisecond has. A feed that uses all of them
// continues in the next millisecond.
const perMilli = 1000

// marksOf returns the marks of a segment; empty for nil.
func marksOf(s *core.Segment) core.FeedMarks {
	if s == nil {
		return ""
	}
	return s.FeedMarks()
}

// feedNext is the next position in the feed of a tenant, ?1: the time, ?8, or, if the clock went
// back, the position after the last. There is one writer, so positions follow commit order, also
// across processes.
const feedNext = "max(?8, coalesce((SELECT max(feed) FROM segments WHERE tenant = ?1 AND feed IS NOT NULL), 0) + 1)"

// The two directions of a feed.
const (
	feedColumns = "SELECT feed, thread, seq, w, marks FROM segments WHERE tenant = ?1 AND feed IS NOT NULL AND feed "
	feedForward = feedColumns + "> ?2 ORDER BY feed LIMIT ?3"
	feedBack    = feedColumns + "< ?2 ORDER BY feed DESC LIMIT ?3"
)

// Feed implements frontend.Store.
func (db *DB) Feed(ctx context.Context, tenant string, q engine.FeedQuery) (entries []engine.FeedEntry, err error) {
	from, err := feedNumber(q)
	if err != nil {
		return nil, err
	}
	query := feedForward
	if q.Newest {
		query = feedBack
	}
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var e engine.FeedEntry
		var n, w int64
		var marks string
		if err := s.Scan(&n, &e.Thread, &e.Seq, &w, &marks); err != nil {
			return dbfile.Unavailable(err)
		}
		e.FeedPlace, e.W, e.Marks = feedPlace(n), core.Stamp(w), core.FeedMarks(marks)
		entries = append(entries, e)
		return nil
	}, query, tenant, from, max(q.Limit, 1))
	return entries, err
}

// FeedLag implements frontend.Store.
func (db *DB) FeedLag() time.Duration { return 0 }

func feedPlace(n int64) engine.FeedPlace {
	return engine.FeedPlace{At: n / perMilli, Tie: fmt.Sprintf("%03d", n%perMilli)}
}

// feedNumber returns the number that a query starts from.
func feedNumber(q engine.FeedQuery) (int64, error) {
	p := q.From
	if err := p.Check(); err != nil {
		return 0, err
	}
	n := p.At * perMilli
	switch {
	case p.Tie != "":
		tie, err := strconv.ParseUint(p.Tie, 10, 16)
		if err != nil || tie >= perMilli {
			return 0, fmt.Errorf("%w: %q is not a valid feed position", engine.ErrRefused, p.Tie)
		}
		return n + int64(tie), nil
	case !q.Newest:
		return n - 1, nil
	case p == engine.FeedPlace{}:
		return 1<<63 - 1, nil
	}
	return n, nil
}
