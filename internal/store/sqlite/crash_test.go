package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// crashFile names the file that the test binary, started again by itself, writes to until it is
// killed.
const crashFile = "DORMOUSE_TEST_CRASH_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashFile); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

type fixedText struct{}

func (fixedText) Text(int) string { return "text" }

// writeUntilKilled starts thread after thread, eight at a time, and prints each that was answered.
func writeUntilKilled(path string) error {
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{Clock: enginetest.AtMilli(1000), Random: fixedText{}})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for worker := range 8 {
		go func() {
			for i := 0; ; i++ {
				head := newHead(fmt.Sprintf("thr_%d.%d", worker, i))
				req := engine.StartRequest{Head: head, Due: 6000, Wake: &engine.Delay{}}
				if _, err := db.Start(context.Background(), req); err != nil {
					failed <- err
					return
				}
				fmt.Println(head.Thread)
			}
		}()
	}
	return <-failed
}

func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "crash.db")
	for round := range 3 {
		answered := killedAfter(t, path, 100)
		db := open(t, path, options(t, enginetest.AtMilli(1000)))
		if got := damage(t, path); got != "ok" {
			t.Fatalf("the file is damaged: %s", got)
		}
		for _, thread := range answered {
			h, err := db.Load(t.Context(), tenant, thread)
			if err != nil || len(h.Inbox) != 1 {
				t.Fatalf("round %d: %s: %+v, %v", round, thread, h, err)
			}
		}
		threads, wakeups := count(t, path, "heads"), count(t, path, "queue")
		if threads != wakeups || threads < len(answered) {
			t.Fatalf("%d answered, %d threads, %d wake-ups", len(answered), threads, wakeups)
		}
		path = filepath.Join(t.TempDir(), "crash.db")
	}
}

// killedAfter runs a writer, kills it after n answers, and returns all it had printed.
func killedAfter(t *testing.T, path string, n int) (answered []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashFile+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // what was cut by the kill was not printed
		}
		answered = append(answered, line[:len(line)-1])
		if len(answered) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cmd.Wait() == nil || len(answered) < n {
		t.Fatalf("the writer ended by itself after %d", len(answered))
	}
	return answered
}

func damage(t *testing.T, path string) (result string) {
	t.Helper()
	if err := rawFile(t, path).QueryRow("PRAGMA integrity_check").Scan(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

func count(t *testing.T, path, table string) (n int) {
	t.Helper()
	if err := rawFile(t, path).QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
