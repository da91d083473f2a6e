package txfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// What is at the path of a new database is whole, before anything else is written to it.
func TestANewFileIsWholeBeforeItHasItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	if made, err := makeFile(path, dbfile.SyncFull); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 4096 || !bytes.HasPrefix(text, []byte("SQLite format 3\x00")) {
		t.Errorf("%d bytes, %.16q, %v", len(text), text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := openAndPut(t, path); err != nil {
		t.Error(err)
	}
	onlyTheDatabase(t, path)
}

// Of several that start at once on a new directory, one creates the file, and all use it.
func TestAFileIsCreatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	var all sync.WaitGroup
	made := make(chan bool, 8)
	for range cap(made) {
		all.Go(func() {
			ours, err := makeFile(path, dbfile.SyncFull)
			if err != nil {
				t.Error(err)
			}
			made <- ours
		})
	}
	all.Wait()
	first := 0
	for range cap(made) {
		if <-made {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d created it", first)
	}
	onlyTheDatabase(t, path)
}

// A file that is there is never written over, however little is in it.
func TestAFileThatIsThereIsLeftAlone(t *testing.T) {
	for _, text := range []string{"", "not a database"} {
		path := filepath.Join(t.TempDir(), "new.db")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		made, err := makeFile(path, dbfile.SyncFull)
		now, _ := os.ReadFile(path)
		if err != nil || made != (text == "") || string(now) != text {
			t.Errorf("%q: made %v, %v, now %q", text, made, err, now)
		}
	}
}

func openAndPut(t *testing.T, path string) error {
	t.Helper()
	opts := options(t)
	f, err := Open(t.Context(), path, opts)
	if err != nil {
		return err
	}
	if err := exec(t.Context(), f, put("a", nil)); err != nil {
		return err
	}
	return f.Close()
}

// onlyTheDatabase finds nothing but the database and what SQLite and the mark keep beside it.
func onlyTheDatabase(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".new") {
			t.Errorf("%s is left", e.Name())
		}
	}
}
