package query

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// A list of more runs than one window has goes on in the next one, and skips none either.
func TestPagesOfSmallWindows(t *testing.T) {
	for _, of := range []int{1, 3, 4} {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), sqlite.Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1), Sync: dbfile.SyncOff})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.TestPagesByUrgency(t, db, func(ctx context.Context, cursor string, limit int) ([]core.Head, string, error) {
			return (&windows{store: db, tenant: "acme", now: 1000, of: of, piece: 2}).page(ctx, cursor, limit)
		})
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
