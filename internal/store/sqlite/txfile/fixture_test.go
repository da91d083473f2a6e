package txfile

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// schema has a table of things, beside the one of package mark.
const schema = `CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), store TEXT NOT NULL, logs INTEGER NOT NULL);
	CREATE TABLE things (name TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID`

func options(t *testing.T) Options {
	return Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1), Schema: []string{schema}}
}

func openTemp(t *testing.T) *File {
	t.Helper()
	opts := options(t)
	opts.Sync = dbfile.SyncOff
	f, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func exec(ctx context.Context, f *File, fn func(*Tx) error) error {
	_, err := Write(ctx, f, func(t *Tx) (struct{}, error) { return struct{}{}, fn(t) })
	return err
}

// put stores a thing; a second one of the same name is refused by SQLite.
func put(name string, body []byte) func(*Tx) error {
	return func(t *Tx) error {
		_, err := t.Exec("INSERT INTO things (name, body) VALUES (?, ?)", name, body)
		return err
	}
}

// things counts what is stored.
func things(t *testing.T, f *File) (n int) {
	t.Helper()
	if err := ReadOne(t.Context(), f, func(s dbfile.Scanner) error { return s.Scan(&n) }, "SELECT count(*) FROM things"); err != nil {
		t.Fatal(err)
	}
	return n
}
