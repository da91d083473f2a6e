package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Limited returns the same queue with a limit: a tenant gets messages only while fewer than most of
// its wake-ups wait for a worker. So a tenant's queued messages delay neither the runs that its
// people wait for nor the messages of other tenants.
func (q *Intake) Limited(most int) *Intake { return &Intake{db: q.db, most: most} }

// intakeLine is a tenant's share of the queue.
type intakeLine struct {
	tenant    string
	visibleAt int64 // of its oldest visible message
	room      int   // how many of its messages may be delivered
}

// intakeLines lists the tenants with a visible message, and how many of their wake-ups wait, up to
// a limit.
var intakeLines = lineOf("intake") + `
	SELECT tenant, visible_at,
		(SELECT count(*) FROM (SELECT 1 FROM queue WHERE queue.tenant = line.tenant AND queue.visible_at <= ?1 LIMIT ?2))
	FROM line WHERE visible_at <= ?1`

// lines returns the tenants in the order in which they are served: the oldest message first.
func (q *Intake) lines(ctx context.Context) (all []intakeLine, err error) {
	most := cmp.Or(q.most, math.MaxInt32)
	err = q.db.read(ctx, func(s dbfile.Scanner) error {
		var l intakeLine
		if err := s.Scan(&l.tenant, &l.visibleAt, &l.room); err != nil {
			return dbfile.Unavailable(err)
		}
		l.room = most - l.room
		all = append(all, l)
		return nil
	}, intakeLines, q.db.now(), q.most)
	slices.SortStableFunc(all, func(a, b intakeLine) int { return cmp.Compare(a.visibleAt, b.visibleAt) })
	return all, err
}

// Room returns how many runs may be started now. It is 0 if there are messages, but all their
// tenants have enough waiting wake-ups.
func (q *Intake) Room(ctx context.Context) (room int, err error) {
	all, err := q.lines(ctx)
	if err != nil || len(all) == 0 {
		return q.most, err
	}
	for _, l := range all {
		room += l.room
	}
	return room, nil
}

// Receive implements [intake.Queue]. Tenants get one message each in turn. If nothing is visible,
// it writes nothing.
func (q *Intake) Receive(ctx context.Context, max int) ([]intake.Delivery, error) {
	all, err := q.lines(ctx)
	if err != nil {
		return nil, err
	}
	share := shares(all, max)
	if len(share) == 0 {
		return nil, nil
	}
	receipt := q.db.random.Text(receiptLength)
	return write(ctx, q.db, func(t *tx) (taken []intake.Delivery, err error) {
		for _, l := range all {
			if share[l.tenant] == 0 {
				continue
			}
			some, err := t.takeIn(l.tenant, q.db.now(), share[l.tenant], receipt)
			if err != nil {
				return nil, err
			}
			taken = append(taken, some...)
		}
		return taken, nil
	})
}

// shares distributes max messages, one to each tenant in turn, up to the tenant's limit. It does
// not know how many messages a tenant has: unused shares are available to the next request.
func shares(all []intakeLine, max int) map[string]int {
	share := map[string]int{}
	for dealt := true; dealt && max > 0; {
		dealt = false
		for _, l := range all {
			if max > 0 && share[l.tenant] < l.room {
				share[l.tenant]++
				max--
				dealt = true
			}
		}
	}
	return share
}
