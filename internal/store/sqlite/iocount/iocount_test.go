package iocount_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/iocount"
)

// In WAL mode with full synchronisation, a commit is one flush of the log, and the log grows by a
// header and a page for each page that changed.
func TestACommitIsOneFlush(t *testing.T) {
	if err := iocount.Install(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	pool, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"_pragma": dbfile.WritePragmas(dbfile.SyncFull)}))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for _, statement := range []string{"CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	before := iocount.Read()
	for range 10 {
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); err != nil {
			t.Fatal(err)
		}
	}
	const frame = 24 + 4096
	if got, want := iocount.Read().Minus(before), (iocount.Counts{Statements: 10, Syncs: 10, LogBytes: 10 * frame}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	before = iocount.Read()
	if _, err := pool.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if got := iocount.Read().Minus(before); got.Syncs < 1 || got.FileBytes == 0 {
		t.Errorf("copying the log to the database: %+v", got)
	}
}
