package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

func TestTheStampChangesWithEveryCommitOfAnyProcess(t *testing.T) {
	path := newFile(t)
	mine, other := open(t, path, options(t, enginetest.AtMilli(1000))), open(t, path, options(t, enginetest.AtMilli(1000)))
	seen := map[string]bool{mine.Stamp(t.Context()): true, "": true}
	for n, db := range []*sqlite.DB{mine, other, mine} {
		head := core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_" + string(rune('a'+n)), Run: "run_x_0", Schema: 1}}
		if _, err := db.Start(t.Context(), engine.StartRequest{Head: head}); err != nil {
			t.Fatal(err)
		}
		stamp := mine.Stamp(t.Context())
		if seen[stamp] || mine.Stamp(t.Context()) != stamp {
			t.Errorf("after commit %d: %q", n, stamp)
		}
		seen[stamp] = true
	}
}

// A commit that no reader sees yet, because its flush takes long, doesn't change the stamp: or a
// look that can't see it would be the last one.
func TestTheStampChangesWhenReadersSeeTheCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dormouse.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	before := db.Stamp(t.Context())
	raw := rawFile(t, path)
	defer raw.Close()
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// more than fits into the writer's cache, so that pages are in the log already
	for _, statement := range []string{"PRAGMA cache_size = 2", "CREATE TABLE large (text)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO large SELECT hex(zeroblob(2000)) FROM n"} {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if now := db.Stamp(t.Context()); before == "" || now != before {
		t.Errorf("before the commit %q, then %q", before, now)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}

	if now := db.Stamp(t.Context()); now == before {
		t.Errorf("the commit changed nothing: %q", now)
	}
}
