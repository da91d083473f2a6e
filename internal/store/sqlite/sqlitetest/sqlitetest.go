// Package sqlitetest opens stores for tests of other packages. Each is a copy of one empty store,
// because creating the schema takes longer than many tests do.
package sqlitetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Open opens an empty store that flushes nothing, until the end of the test. It returns the path of
// its file, too.
func Open(t testing.TB, clock engine.Clock, random engine.Random) (db *sqlite.DB, path string) {
	t.Helper()
	body, err := empty(t)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "dormouse.db")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock, Random: random, Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

var template struct {
	once sync.Once
	body []byte
	err  error
}

// empty is the file of an empty store, made once for the process.
func empty(t testing.TB) ([]byte, error) {
	template.once.Do(func() {
		path := filepath.Join(t.TempDir(), "empty.db")
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: enginetest.AtMilli(0), Random: enginetest.NewRandom(t, 1), Sync: dbfile.SyncOff})
		if err == nil {
			err = db.Close()
		}
		if err == nil {
			template.body, err = os.ReadFile(path)
		}
		template.err = err
	})
	return template.body, template.err
}
