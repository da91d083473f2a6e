package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// left are the files that a process leaves behind: the database alone after its end, the log of
// writes after a kill, and what the log's index was if the machine went on.
var left = map[string][]string{"after its end": {""}, "after a kill": {"", "-wal", "-shm"}, "after a kill, without the index": {"", "-wal"}}

// leave puts a file with twenty runs at path, as a process leaves it.
func leave(t *testing.T, path string, files []string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "from.db")
	db := open(t, from, options(t, enginetest.AtMilli(1000)))
	for i := range 20 {
		start(t, db, newHead(numbered(i)))
	}
	if len(files) == 1 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range files {
		text, err := os.ReadFile(from + end)
		if err == nil {
			err = os.WriteFile(path+end, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func full(db *sqlite.DB) bool {
	trouble, _ := db.Trouble()
	return trouble == txfile.Full
}

func numbered(i int) string { return "thr_" + string(rune('a'+i)) }

// onFullDisk is a file whose disk is full until room is called, once on a real file system, if this
// process may mount one, and once played.
func onFullDisk(t *testing.T, files []string, run func(t *testing.T, path string, o sqlite.Options, clock *enginetest.Clock, room func())) {
	t.Run("played", func(t *testing.T) {
		path, clock := filepath.Join(t.TempDir(), "full.db"), enginetest.AtMilli(1000)
		leave(t, path, files)
		var full atomic.Bool
		full.Store(true)
		o := options(t, clock)
		o.NoRoom = full.Load
		run(t, path, o, clock, func() { full.Store(false) })
	})
	t.Run("real", func(t *testing.T) {
		dir := enginetest.SmallDisk(t, 3<<20)
		path, clock := filepath.Join(dir, "full.db"), enginetest.AtMilli(1000)
		leave(t, path, files)
		run(t, path, options(t, clock), clock, enginetest.Fill(t, dir))
	})
}

func TestAFileOnAFullDiskIsReadAndWrittenAgainOnceThereIsRoom(t *testing.T) {
	for name, files := range left {
		t.Run(name, func(t *testing.T) {
			onFullDisk(t, files, func(t *testing.T, path string, o sqlite.Options, clock *enginetest.Clock, room func()) {
				db := open(t, path, o)
				for i := range 20 {
					if h, err := db.Load(t.Context(), tenant, numbered(i)); err != nil || h.Thread != numbered(i) {
						t.Fatalf("run %d: %v", i, err)
					}
				}
				if runs, _, err := db.Runs(t.Context(), tenant, "", "", 50); err != nil || len(runs) != 20 {
					t.Errorf("%d runs, %v", len(runs), err)
				}
				err := db.Probe(t.Context())
				if !errors.Is(err, engine.ErrNoRoom) || !errors.Is(err, engine.ErrUnavailable) || !full(db) {
					t.Fatalf("a write on a full disk: %v, full: %v", err, full(db))
				}
				for _, want := range []string{filepath.Dir(path), "16 MB"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not said: %v", want, err)
					}
				}
				room()
				clock.Advance(2 * time.Second)
				if err := db.Probe(t.Context()); err != nil || full(db) {
					t.Fatalf("a write once there is room: %v, full: %v", err, full(db))
				}
				if taken, err := db.TakeOverdue(t.Context(), 1<<40, 1<<41, 50); err != nil || len(taken) != 20 {
					t.Errorf("%d due, %v", len(taken), err)
				}
				if _, err := db.Load(t.Context(), tenant, numbered(3)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What was there before is the file's, and a new file has nothing to read.
func TestANewFileOnAFullDiskIsRefused(t *testing.T) {
	o := options(t, enginetest.AtMilli(1000))
	o.NoRoom = func() bool { return true }
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "new.db"), o)
	if !errors.Is(err, engine.ErrNoRoom) || !strings.Contains(err.Error(), "16 MB") {
		t.Errorf("got %v", err)
	}
}

// A file that is read alone is one connection's: nobody else writes it meanwhile, and closing it
// leaves nothing behind.
func TestAFileThatIsOnlyReadCanBeClosedAndOpenedAgain(t *testing.T) {
	path, o := filepath.Join(t.TempDir(), "full.db"), options(t, enginetest.AtMilli(1000))
	leave(t, path, left["after its end"])
	o.NoRoom = func() bool { return true }
	db := open(t, path, o)
	if _, err := db.Load(t.Context(), tenant, numbered(0)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Probe(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a closed file: %v", err)
	}
	o.NoRoom = nil
	if err := open(t, path, o).Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a full disk has refused does not count as log that is to be copied.
func TestRefusedWritesAreNoLog(t *testing.T) {
	dir := enginetest.SmallDisk(t, 3<<20)
	path := filepath.Join(dir, "x.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	enginetest.Fill(t, dir)
	for n := range 300 {
		err := db.PutPayload(t.Context(), tenant, thread, fmt.Sprint(n), []byte(strings.Repeat("x", 8<<10)))
		if err == nil && n > 200 {
			t.Fatal("the disk is not full")
		}
	}
	if size := logSize(t, path); db.LogBytes() > size+64<<10 {
		t.Errorf("%d bytes are said to be in the log, which has %d", db.LogBytes(), size)
	}
}
