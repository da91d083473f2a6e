package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Places limits how many messages of each tenant a receiver holds.
type Places interface {
	// Take reserves a place for one more message of the tenant. It returns false if the tenant
	// is at its limit.
	Take(tenant string) bool

	// Free returns a place that was reserved for a message that could not be received.
	Free(tenant string)
}

// unbounded has a place for every message.
type unbounded struct{}

func (unbounded) Take(string) bool { return true }
func (unbounded) Free(string)      {}

// line is a tenant's share of the queue.
type line struct {
	tenant    string
	visibleAt int64 // of its oldest visible message
	held      int   // messages delivered and not settled
	served    int64 // when this process last served the tenant, counted in turns
}

// turns decides which tenant is served next: the one with the fewest messages in delivery; then the
// one that this process has not served for the longest time; then the one with the oldest message.
// So a tenant with a message is served within as many turns as there are tenants, however many
// messages the others have queued.
type turns struct {
	mu      sync.Mutex
	count   int64
	served  map[string]int64
	pending map[string]int // turns whose message is not marked as delivered yet
}

// lineOf returns the beginning of a query on a table of messages: line lists its tenants, each with
// the time of its first message. It seeks from one tenant to the next, so its cost depends on the
// number of tenants and not on the number of messages.
func lineOf(table string) string {
	return `WITH RECURSIVE line(tenant, visible_at) AS (
		SELECT tenant, visible_at FROM (SELECT tenant, visible_at FROM ` + table + ` ORDER BY tenant, visible_at LIMIT 1)
		UNION ALL SELECT next.tenant, next.visible_at FROM line JOIN ` + table + ` AS next
			ON next.id = (SELECT id FROM ` + table + ` AS other WHERE other.tenant > line.tenant ORDER BY other.tenant, other.visible_at LIMIT 1))`
}

// lines lists the tenants with a visible message, followed by the number of messages in delivery of
// each tenant.
var lines = lineOf("queue") + `
	SELECT tenant, visible_at, 0 FROM line WHERE visible_at <= ?1
	UNION ALL SELECT tenant, 0, count(*) FROM queue WHERE receipt <> '' AND visible_at > ?1 GROUP BY tenant`

// next gives a tenant its turn and reserves a place for its message; it returns false if no tenant
// can have one. The turn counts as a message in delivery until end is called.
func (db *DB) next(ctx context.Context, places Places) (tenant string, some bool, err error) {
	t := &db.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := db.lines(ctx)
	if err != nil {
		return "", false, err
	}
	for _, l := range t.inOrder(all) {
		if places.Take(l.tenant) {
			t.begin(l.tenant)
			return l.tenant, true, nil
		}
	}
	return "", false, nil
}

func (db *DB) lines(ctx context.Context) (all []line, err error) {
	held := map[string]int{}
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var l line
		if err := s.Scan(&l.tenant, &l.visibleAt, &l.held); err != nil {
			return dbfile.Unavailable(err)
		}
		if l.held > 0 {
			held[l.tenant] = l.held
			return nil
		}
		all = append(all, l)
		return nil
	}, lines, db.now())
	for i := range all {
		all[i].held = held[all[i].tenant]
	}
	return all, err
}

func (t *turns) inOrder(all []line) []line {
	for i, l := range all {
		all[i].held, all[i].served = l.held+t.pending[l.tenant], t.served[l.tenant]
	}
	slices.SortFunc(all, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.served, b.served), cmp.Compare(a.visibleAt, b.visibleAt))
	})
	return all
}

func (t *turns) begin(tenant string) {
	if t.served == nil {
		t.served, t.pending = map[string]int64{}, map[string]int{}
	}
	t.count++
	t.served[tenant] = t.count
	t.pending[tenant]++
}

// serve is a turn whose message was delivered without waiting in line.
func (t *turns) serve(tenant string) {
	t.mu.Lock()
	t.begin(tenant)
	t.mu.Unlock()
	t.end(tenant)
}

// end marks the message of a turn as delivered, or reports that there was none.
func (t *turns) end(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending[tenant]--; t.pending[tenant] == 0 {
		delete(t.pending, tenant)
	}
}

// Receive implements [engine.Receiver]. Tenants take turns. If nothing is visible, it writes
// nothing.
func (db *DB) Receive(ctx context.Context, max int) (ds []engine.Delivery, err error) {
	for len(ds) < max {
		d, some, err := db.ReceiveFor(ctx, unbounded{})
		switch {
		case err != nil && len(ds) == 0:
			return nil, err
		// what was delivered before the error has to be processed
		case err != nil || !some:
			return ds, nil
		}
		ds = append(ds, d)
	}
	return ds, nil
}

// ReceiveFor delivers one message of the tenant whose turn it is among those that have a place. The
// receiver frees the place once it has settled the message; without a message no place is taken.
func (db *DB) ReceiveFor(ctx context.Context, places Places) (d engine.Delivery, some bool, err error) {
	t, some, err := db.TakeFor(ctx, places, unclaimed)
	return t.Delivery, some, err
}

// claims returns the claim for the run of a wake-up that is being received; nil for none.
type claims = func(engine.Wakeup) *engine.ClaimRequest

func unclaimed(engine.Wakeup) *engine.ClaimRequest { return nil }

// TakeFor is ReceiveFor that also claims the run of the wake-up in the same transaction, with the
// claim that claim returns for it. It only receives the message of a line, of a run that cannot be
// claimed, and one for which claim returns nil. The writer calls claim, which must not wait.
func (db *DB) TakeFor(ctx context.Context, places Places, claim claims) (taken engine.Taken, some bool, err error) {
	for {
		tenant, free, err := db.next(ctx, places)
		if err != nil || !free {
			return engine.Taken{}, false, err
		}
		if taken, some, err = db.receive(ctx, tenant, claim); some {
			return taken, true, nil
		}
		places.Free(tenant)
		if err != nil {
			return engine.Taken{}, false, err
		}
	}
}

// receive delivers the tenant's oldest message; it returns false if another receiver was faster.
func (db *DB) receive(ctx context.Context, tenant string, claim claims) (taken engine.Taken, some bool, err error) {
	defer db.turns.end(tenant)
	receipt := db.random.Text(receiptLength)
	receive := func(claim claims) (engine.Taken, error) {
		return write(ctx, db, func(t *tx) (engine.Taken, error) { return db.takeAndClaim(t, tenant, receipt, claim) })
	}
	taken, err = receive(claim)
	// a head that cannot be read must not keep the message in the queue: the step's claim fails
	if engine.Lasting(err) || err != nil && !errors.Is(err, engine.ErrUnavailable) {
		taken, err = receive(unclaimed)
	}
	return taken, err == nil && taken.ID != "", err
}

func (db *DB) takeAndClaim(t *tx, tenant, receipt string, claim claims) (engine.Taken, error) {
	d, err := db.take(t, tenant, receipt)
	taken := engine.Taken{Delivery: d}
	if err != nil || d.ID == "" || d.Endpoint != "" {
		return taken, err
	}
	if req := claim(d.Wakeup); req != nil {
		h, won, err := t.claim(*req)
		if won || err != nil {
			taken.Head = h
			return taken, err
		}
	}
	return taken, nil
}
