package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// After its files are gone, or others are in their place, nothing is acknowledged any more, and the
// process is told to end.
func TestAFileThatIsGoneAcknowledgesNothing(t *testing.T) {
	remove := func(ending string) func(*testing.T, string) error {
		return func(_ *testing.T, path string) error { return os.Remove(path + ending) }
	}
	for name, harm := range map[string]func(*testing.T, string) error{
		"the directory is removed": func(_ *testing.T, path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"the directory is moved":   func(_ *testing.T, path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
		"the database is removed":  remove(""),
		"the log is removed":       remove("-wal"),
		"the index is removed":     remove("-shm"),
		"another file is in its place": func(t *testing.T, path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, text, 0o600))
		},
		"the directory is replaced by a copy": func(t *testing.T, path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".old"), os.CopyFS(dir, os.DirFS(dir+".old")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "x.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			db := open(t, path, options(t, enginetest.AtMilli(1000)))
			start(t, db, newHead(numbered(0)))
			if err := db.Look(); err != nil {
				t.Fatal(err)
			}
			if err := harm(t, path); err != nil {
				t.Fatal(err)
			}
			_, err := db.Start(t.Context(), engine.StartRequest{Head: newHead(numbered(1)), Due: 6000})
			if !errors.Is(err, engine.ErrGone) {
				t.Errorf("a write: %v", err)
			}
			select {
			case <-db.Ended():
			default:
				t.Error("the process is not told to end")
			}
			if trouble, why := db.Trouble(); trouble != txfile.Gone || why == nil {
				t.Errorf("trouble %d, %v", trouble, why)
			}
			if _, err := db.Load(t.Context(), tenant, numbered(0)); !errors.Is(err, engine.ErrGone) {
				t.Errorf("a read: %v", err)
			}
			if err := db.Look(); !errors.Is(err, engine.ErrGone) {
				t.Errorf("a look: %v", err)
			}
			was := listing(t, filepath.Dir(path))
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if now := listing(t, filepath.Dir(path)); now != was {
				t.Errorf("closing changed what is there: %s became %s", was, now)
			}
		})
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A sweep that looks notices it without a write.
func TestALookFindsAFileGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := db.Look(); !errors.Is(err, engine.ErrGone) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	<-db.Ended()
}

// A database that was here, or what was stored in it before, is not forgotten in silence.
func TestADatabaseThatIsNotTheOneThatWasHereIsRefused(t *testing.T) {
	o := options(t, enginetest.AtMilli(1000))
	o.Sync = dbfile.SyncFull
	for name, c := range map[string]struct {
		harm  func(t *testing.T, path, older string) error
		code  examine.FindingCode
		says  string
		whole bool
	}{
		"nothing happened": {func(*testing.T, string, string) error { return nil }, "", "", true},
		"it is missing":    {func(_ *testing.T, path, _ string) error { return os.Remove(path) }, examine.FindMissing, "missing", false},
		"it is empty":      {func(_ *testing.T, path, _ string) error { return os.Truncate(path, 0) }, examine.FindMissing, "missing", false},
		"it is an older copy": {func(t *testing.T, path, older string) error {
			return os.Rename(older, path)
		}, examine.FindOlder, "it lacks later data", false},
		"it is another one": {func(t *testing.T, path, _ string) error {
			other := filepath.Join(t.TempDir(), "other.db")
			db, err := sqlite.Open(t.Context(), other, sqlite.Options{Clock: o.Clock, Random: fixedText{}})
			return errors.Join(err, db.Close(), os.Rename(other, path))
		}, examine.FindOlder, "another database", false},
		"an older copy was put there on purpose": {func(t *testing.T, path, older string) error {
			return errors.Join(os.Rename(older, path), os.Remove(path+".mark"))
		}, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			older := path + ".older"
			for round := range 2 {
				db := open(t, path, o)
				start(t, db, newHead(numbered(round)))
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if text, err := os.ReadFile(path); round == 0 && (err != nil || os.WriteFile(older, text, 0o600) != nil) {
					t.Fatal(err)
				}
			}
			if err := c.harm(t, path, older); err != nil {
				t.Fatal(err)
			}
			db, err := sqlite.Open(t.Context(), path, o)
			if (err == nil) != c.whole {
				t.Fatalf("opening: %v", err)
			}
			if err == nil {
				t.Cleanup(func() { db.Close() })
				return
			}
			if !errors.Is(err, mark.ErrLost) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), ".mark") {
				t.Errorf("%v", err)
			}
			r, err := examine.File(t.Context(), path, nil)
			if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != c.code {
				t.Errorf("examined: %+v, %v", r, err)
			}
		})
	}
}
