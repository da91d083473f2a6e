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
	want := before
	want.Statements += 10
	want.Syncs += 10
	want.LogBytes += 10 * (24 + 4096)
	if got := iocount.Read(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	before = iocount.Read()
	if _, err := pool.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if got := iocount.Read(); got.Syncs == before.Syncs || got.FileBytes == before.FileBytes {
		t.Errorf("copying the log to the database: %+v, then %+v", before, got)
	}
}
