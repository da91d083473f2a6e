package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

const megabyte = 1 << 20

// fillUp stores n megabytes, and stops at the first error.
func fillUp(t *testing.T, db *sqlite.DB, from, n int) error {
	t.Helper()
	for i := range n {
		if err := db.PutPayload(t.Context(), tenant, thread, fmt.Sprint(from+i), make([]byte, megabyte)); err != nil {
			return err
		}
	}
	return nil
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestTheLogIsCopiedAsItGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	if err := fillUp(t, db, 0, 40); err != nil {
		t.Fatal(err)
	}
	if size, behind := logSize(t, path), db.LogBytes(); size > 12*megabyte || behind > 6*megabyte {
		t.Errorf("after 40 MB the log has %d bytes, %d of them not copied", size, behind)
	}
}

// A reader that stays keeps the log from being copied whole. It grows to its bound; then writes are
// refused until the reader is gone, and then it shrinks again.
func TestALogThatCannotBeCopiedIsBoundedAndShrinksAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	o.LogMost, o.Sync = 40*megabyte, dbfile.SyncFull
	db := open(t, path, o)
	if err := fillUp(t, db, 0, 1); err != nil {
		t.Fatal(err)
	}
	reader := rawFile(t, path)
	reading, err := reader.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRow("SELECT count(*) FROM payloads").Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	err = fillUp(t, db, 1, 80)
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("a log that grows for ever: %v", err)
	}
	if size := logSize(t, path); size < 30*megabyte || size > 50*megabyte || db.LogBytes() < 30*megabyte {
		t.Errorf("the log has %d bytes, %d of them not copied", size, db.LogBytes())
	}
	if _, err := db.Payload(t.Context(), tenant, thread, "1"); err != nil {
		t.Errorf("a read meanwhile: %v", err)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	before := marked(t, path)
	if err := fillUp(t, db, 100, 1); err != nil {
		t.Fatalf("after the reader is gone: %v", err)
	}
	if now := marked(t, path); now <= before || before == 0 {
		t.Errorf("the mark went from %d to %d", before, now)
	}
	if err := fillUp(t, db, 101, 11); err != nil {
		t.Fatal(err)
	}
	if size := logSize(t, path); size > 17*megabyte {
		t.Errorf("the log still has %d bytes", size)
	}
}

// marked is how many logs there were, as the mark has it.
func marked(t *testing.T, path string) (logs int64) {
	t.Helper()
	text, err := os.ReadFile(path + ".mark")
	if err != nil {
		t.Fatal(err)
	}
	var store string
	if _, err := fmt.Sscanf(string(text), "dormouse %s %d", &store, &logs); err != nil {
		t.Fatal(err)
	}
	return logs
}

// What a killed process left in its log is in the main file before anything is added.
func TestALogThatWasLeftBehindIsCopiedFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	leave(t, path, left["after a kill"])
	if logSize(t, path) == 0 {
		t.Fatal("nothing was left in the log")
	}
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	if size := logSize(t, path); size != 0 {
		t.Errorf("the log still has %d bytes", size)
	}
	if h, err := db.Load(t.Context(), tenant, numbered(19)); err != nil || h.Thread != numbered(19) {
		t.Errorf("%+v, %v", h, err)
	}
}
