package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// oldestFirst receives as a queue without turns does, by the index that it needs for that.
const oldestFirst = `UPDATE queue SET visible_at = ?1, receipt = ?2 || '.' || id, attempts = attempts + 1
	WHERE id IN (SELECT id FROM queue WHERE visible_at <= ?3 ORDER BY visible_at, id LIMIT 1) RETURNING id, receipt, attempts, tenant, thread`

func receiveOldest(ctx context.Context, db *DB) (d engine.Delivery, err error) {
	var at int64
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&at) }, "SELECT visible_at FROM queue ORDER BY visible_at LIMIT 1")
	if err != nil || at > db.now() {
		return d, err
	}
	receipt := db.random.Text(receiptLength)
	return write(ctx, db, func(t *tx) (engine.Delivery, error) {
		now := db.now()
		err := t.Row(func(s dbfile.Scanner) error { return s.Scan(&d.ID, &d.Receipt, &d.Attempts, &d.Tenant, &d.Thread) },
			oldestFirst, now+db.visibility.Milliseconds(), receipt, now)
		return d, err
	})
}

func receiveInTurn(ctx context.Context, db *DB) (engine.Delivery, error) {
	d, some, err := db.ReceiveFor(ctx, unbounded{})
	if err == nil && !some {
		err = engine.ErrNotFound
	}
	return d, err
}

// BenchmarkTurns measures what a message costs from being sent to being settled with 10,000 others
// in the queue: with turns, and as it was without them, one after the other in the same run. The
// ratio is of the two.
func BenchmarkTurns(b *testing.B) {
	for _, tenants := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			with, without := crowded(b, tenants), crowded(b, tenants)
			for _, query := range []string{"DROP INDEX queue_line", "DROP INDEX queue_held", "CREATE INDEX queue_visible ON queue (visible_at)"} {
				if err := exec(b.Context(), without, func(t *tx) error { _, err := t.Exec(query); return err }); err != nil {
					b.Fatal(err)
				}
			}
			var took [2]time.Duration
			for n := 0; b.Loop(); n++ {
				took[0] += cycle(b, with, n%tenants, receiveInTurn)
				took[1] += cycle(b, without, n%tenants, receiveOldest)
			}
			b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
			b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "with-µs")
			b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "without-µs")
		})
	}
}

func crowded(b *testing.B, tenants int) *DB {
	b.Helper()
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "turns.db"), Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(b, 1)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	err = exec(b.Context(), db, func(t *tx) error {
		for i := range 10_000 {
			if err := t.send(wakeupOf(i, i%tenants), 1000); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func wakeupOf(n, tenant int) engine.Wakeup {
	return engine.Wakeup{Tenant: fmt.Sprintf("tenant %04d", tenant), Thread: fmt.Sprintf("thr_%d", n)}
}

func cycle(b *testing.B, db *DB, tenant int, receive func(context.Context, *DB) (engine.Delivery, error)) time.Duration {
	began := time.Now()
	err := db.Send(b.Context(), wakeupOf(0, tenant), 0)
	if err != nil {
		b.Fatal(err)
	}
	d, err := receive(b.Context(), db)
	if err == nil {
		err = db.Ack(b.Context(), d)
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
