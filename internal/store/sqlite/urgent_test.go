package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

var _ query.UrgencyIndex = (*sqlite.DB)(nil)

func byUrgency(db *sqlite.DB) enginetest.Urgent {
	return func(ctx context.Context, cursor string, limit int) ([]core.Head, string, error) {
		return db.Urgent(ctx, "acme", cursor, limit)
	}
}

func TestUrgency(t *testing.T) {
	t.Parallel()
	enginetest.TestUrgency(t, func(t *testing.T) (enginetest.Store, enginetest.Urgent) {
		db := fresh(t)
		return db, byUrgency(db)
	})
}

func TestUrgencyInWindows(t *testing.T) {
	t.Parallel()
	enginetest.TestUrgency(t, func(t *testing.T) (enginetest.Store, enginetest.Urgent) {
		db := fresh(t)
		return db, func(ctx context.Context, cursor string, limit int) ([]core.Head, string, error) {
			return query.Windows(db, "acme", 1000)(ctx, cursor, limit)
		}
	})
}

// A file of the version before has no urgency: what waits in it is listed, in order and counted, as
// soon as it is opened.
func TestWhatWaitsInAFileOfBeforeIsListedByUrgency(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "before.db")
	opts := options(t, enginetest.AtMilli(1000))
	db, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	a, b := enginetest.WaitFor(t, db, "thr_a", 0), enginetest.WaitFor(t, db, "thr_b", 1700000000500)
	c, d := enginetest.WaitFor(t, db, "thr_c", 1700000000400), enginetest.WaitFor(t, db, "thr_d", 0)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	const before = `DROP INDEX heads_urgent; ALTER TABLE heads DROP COLUMN urgent; ALTER TABLE heads DROP COLUMN asks;
		DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations);
		UPDATE heads SET calls = '{' WHERE thread = 'thr_d'`
	raw := rawFile(t, path)
	if _, err := raw.Exec(before); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	db = open(t, path, opts)
	enginetest.CheckUrgency(t, byUrgency(db), a, b, c, d)
	if n, err := db.Questions(t.Context(), "acme"); n != 3 || err != nil {
		t.Errorf("%d questions, %v", n, err)
	}
	if n, err := db.Questions(t.Context(), "other"); n != 0 || err != nil {
		t.Errorf("another tenant has %d questions, %v", n, err)
	}
}
