package txfile

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
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// heldFile names the file that the test binary, started again by itself, keeps open.
const heldFile = "DORMOUSE_TEST_HELD"

func TestMain(m *testing.M) {
	if path := os.Getenv(heldFile); path != "" {
		fmt.Fprintln(os.Stderr, holdOpen(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// holdOpen keeps the file open until its standard input ends.
func holdOpen(path string) error {
	f, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"mode": {"ro"}}))
	if err != nil {
		return err
	}
	var n int
	if err := f.QueryRow("SELECT count(*) FROM things").Scan(&n); err != nil {
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
	path := filepath.Join(t.TempDir(), "x.f")
	opts := options(t)
	f, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(t.Context(), f, put("one", make([]byte, 100_000))); err != nil {
		t.Fatal(err)
	}
	other := osexec.Command(os.Args[0])
	other.Env = append(os.Environ(), heldFile+"="+path)
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
	f.mark.Tear()
	f.end(engine.ErrDisk)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), path, opts); !errors.Is(err, engine.ErrDisk) {
		t.Errorf("it was opened beside another process: %v", err)
	}
	in.Close()
	_ = other.Wait()
	f, err = Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if marked, there := mark.Read(path); !there || marked.Torn {
		t.Errorf("the mark: %+v, %v", marked, there)
	}
	var bytes int
	if err := ReadOne(t.Context(), f, func(s dbfile.Scanner) error { return s.Scan(&bytes) }, "SELECT length(body) FROM things"); err != nil || bytes != 100_000 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
}

// A failed flush concerns every server on a directory: the others end with their next log, and do
// not take the mark back.
func TestAFailedFlushEndsTheOtherServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.f")
	var servers [3]*File
	for i := range servers {
		f, err := Open(t.Context(), path, options(t))
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = f
	}
	servers[0].mark.Tear()
	if err := exec(t.Context(), servers[1], put("one", nil)); !errors.Is(err, engine.ErrDisk) {
		t.Errorf("a write of the other server: %v", err)
	}
	if why := servers[1].WhyEnded(); !errors.Is(why, engine.ErrDisk) {
		t.Errorf("it goes on: %v", why)
	}
	for _, f := range servers {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if marked, there := mark.Read(path); !there || !marked.Torn {
		t.Errorf("the mark: %+v, %v", marked, there)
	}
}
