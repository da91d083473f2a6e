package sqlite

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// HeldFile names the file that the test binary, started again by itself, keeps open.
const HeldFile = "DORMOUSE_TEST_HELD"

// HoldOpen keeps the file open until its standard input ends.
func HoldOpen(path string) error {
	db, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"mode": {"ro"}}))
	if err != nil {
		return err
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM heads").Scan(&n); err != nil {
		return err
	}
	fmt.Println("open")
	_, err = io.ReadAll(os.Stdin)
	return err
}

// After a failed flush a start waits for the end of every other process that knows what was copied
// before: only then all of the log is copied again.
func TestAfterAFailedFlushTheFileIsOpenedAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who has a file open cannot be told here")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	opts := Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1)}
	db, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.PutPayload(t.Context(), "a", "thr_a", "1", make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	other := osexec.Command(os.Args[0])
	other.Env = append(os.Environ(), HeldFile+"="+path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatal(line, err)
	}
	db.mark.Tear()
	db.end(engine.ErrDisk)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), path, opts); !errors.Is(err, engine.ErrDisk) {
		t.Errorf("it was opened beside another process: %v", err)
	}
	in.Close()
	_ = other.Wait()
	db, err = Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if marked, there := mark.Read(path); !there || marked.Torn {
		t.Errorf("the mark: %+v, %v", marked, there)
	}
	if text, err := db.Payload(t.Context(), "a", "thr_a", "1"); err != nil || len(text) != 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// A failed flush concerns every server on a directory: the others end with their next log, and do
// not take the mark back.
func TestAFailedFlushEndsTheOtherServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var servers [3]*DB
	for i := range servers {
		db, err := Open(t.Context(), path, Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1)})
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = db
	}
	servers[0].mark.Tear()
	if err := servers[1].PutPayload(t.Context(), "a", "thr_a", "1", []byte("x")); !errors.Is(err, engine.ErrDisk) {
		t.Errorf("a write of the other server: %v", err)
	}
	if why := servers[1].WhyEnded(); !errors.Is(why, engine.ErrDisk) {
		t.Errorf("it goes on: %v", why)
	}
	for _, db := range servers {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if marked, there := mark.Read(path); !there || !marked.Torn {
		t.Errorf("the mark: %+v, %v", marked, there)
	}
}
