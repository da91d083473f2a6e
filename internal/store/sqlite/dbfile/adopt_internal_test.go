package dbfile

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// A log is written over itself while no other connection can add to it, and is the same afterwards,
// whatever its length is.
func TestTheLogIsWrittenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	pool, err := sql.Open("sqlite", DataSource(path, url.Values{"_pragma": WritePragmas(SyncFull)}))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	do := func(statement string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE TABLE t (x)")
	for range 3 {
		do("INSERT INTO t VALUES (randomblob(500000))")
		before, err := os.ReadFile(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if err := renewLog(t.Context(), conn, path); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path + "-wal")
		if err != nil || !bytes.Equal(before, after) {
			t.Fatalf("%d bytes became %d others, %v", len(before), len(after), err)
		}
	}
	other, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "PRAGMA busy_timeout(0); BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	do("PRAGMA busy_timeout(0)")
	if err := renewLog(t.Context(), conn, path); !Busy(err) {
		t.Fatalf("while another connection writes: %v", err)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := renewLog(t.Context(), conn, path); err != nil {
		t.Fatalf("the lock was kept: %v", err)
	}
}
