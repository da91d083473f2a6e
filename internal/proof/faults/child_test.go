//go:build linux

// Package faults tests a real server while system calls of its store fail, or after a power cut at
// any of them. It checks that everything that was acknowledged is still stored. It needs strace.
package faults

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// childDir names the directory in which the test binary, started again by itself, is a server with
// callers.
const (
	childDir   = "DORMOUSE_TEST_FAULTS"
	childLimit = childDir + "_FSIZE" // bytes that a file of the child may have
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		most, _ := strconv.Atoi(os.Getenv(childDir + "_ACKS"))
		os.Exit(serveAndCall(dir, int64(most)))
	}
	flag.Parse()
	os.Exit(m.Run())
}

const desk = `name: desk
model:
  provider: scripted
  turns:
    - calls: [{tool: pay, arguments: {note: x}}]
    - say: done
tools: [{name: pay, go: pay}]
permissions: {ask: [pay]}
`

// How the child ends.
const (
	exitDone  = 0 // it has the acknowledgements that it was to get, and ends as after a kill
	exitStore = 7 // the server ended by itself because of its store
	exitStart = 8 // the server did not start
)

// copyPages makes the log be copied often.
const copyPages = 100

// callers is how many callers a child has.
const callers = 6

// serveAndCall serves the data in dir, starts runs and decides, and writes down each
// acknowledgement in one write to the file acks. It ends, as by a kill, when there are so many, or,
// with none demanded, when an error is in the log and /healthz has said that something is wrong.
func serveAndCall(dir string, most int64) int {
	if most, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitStart
		}
	}
	acks, err := os.OpenFile(filepath.Join(dir, "acks"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitStart
	}
	tools := tool.NewRegistry(nil)
	err = tools.Register(tool.Func("pay", "Pays.", func(context.Context, tool.Call, map[string]any) (any, error) {
		return strings.Repeat("paid ", 6000), nil
	}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitStart
	}
	logger := &heard{Handler: slog.NewTextHandler(os.Stderr, nil)}
	s, err := local.Start(context.Background(), local.Options{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Agents: filepath.Join(dir, "agents"),
		Tools: tools, Hooks: hook.NewRegistry(), Disk: local.Disk{CopyPages: copyPages}, Version: "test", Logger: slog.New(logger)})
	if err != nil {
		fmt.Fprintln(os.Stderr, "level=ERROR the server does not start:", err)
		return exitStart
	}
	var got atomic.Int64
	ack := func(words ...string) {
		fmt.Fprintln(acks, strings.Join(words, " "))
		if got.Add(1) >= most && most > 0 {
			die()
		}
	}
	go func() {
		defer time.AfterFunc(childTime, die).Stop()
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { call(client.New("http://"+s.Addr(), client.WithRetries(0)), ack) })
		}
		all.Go(func() { readNowAndThen(filepath.Join(dir, "data", "dormouse.db")) })
		all.Go(func() {
			watchHealth("http://"+s.Addr()+"/healthz", ack, func() bool { return most == 0 && logger.error.Load() })
		})
		all.Wait()
	}()
	if err := s.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "level=ERROR the server ended:", err)
	}
	return exitStore
}

// childTime bounds a child that does not come to its end.
const childTime = time.Minute

func die() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// heard is a log that knows whether an error was in it.
type heard struct {
	slog.Handler
	error atomic.Bool
}

func (h *heard) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.error.Store(true)
	}
	return h.Handler.Handle(ctx, r)
}

// call starts runs and answers them, one after the other, for as long as the process lives. What is
// refused is sent again a little later.
func call(c *client.Client, ack func(...string)) {
	for n := 0; ; {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		n++
		if err := once(ctx, c, n%3 != 0, ack); err != nil {
			pause(20 * time.Millisecond)
		}
		stop()
	}
}

func pause(d time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	<-over
}

func once(ctx context.Context, c *client.Client, yes bool, ack func(...string)) error {
	run, err := c.StartRun(ctx, wire.StartRequest{Agent: "desk", Input: []byte(`"` + strings.Repeat("pay ", 3000) + `"`)}, "")
	if err != nil {
		return err
	}
	ack("start", run.ID)
	for run.Status != "waiting" {
		if run, err = c.PollRun(ctx, run.ID, time.Second); err != nil || run.Status == "done" {
			return errors.Join(err, errors.New("not waiting"))
		}
	}
	action := map[bool]string{true: "resume", false: "cancel"}[yes]
	sus := run.Pending[0].Suspension.ID
	if _, err := c.Decide(ctx, run.ID, wire.Decision{Target: sus, Action: action}); err != nil {
		return err
	}
	ack("decide", run.ID, sus, action)
	return nil
}

// readNowAndThen reads as a backup does: while it has its view of the store, the log can be copied
// in part only.
func readNowAndThen(path string) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return
	}
	for ; ; pause(15 * time.Millisecond) {
		reading, err := db.Begin()
		if err != nil {
			continue
		}
		var n int
		_ = reading.QueryRow("SELECT count(*) FROM heads").Scan(&n)
		pause(40 * time.Millisecond)
		_ = reading.Rollback()
	}
}

// watchHealth notes each change of what /healthz answers, and ends the child once something is
// wrong and that is enough.
func watchHealth(url string, ack func(...string), enough func() bool) {
	for last := ""; ; pause(50 * time.Millisecond) {
		now, err := health(url)
		if err != nil {
			continue
		}
		if now != last && last+now != "200" {
			ack("health", now)
		}
		if last = now; now != "200" && enough() {
			die()
		}
	}
}

// health is the status of /healthz, with what it says of the storage.
func health(url string) (string, error) {
	r, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var h wire.Health
	err = json.NewDecoder(r.Body).Decode(&h)
	return strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + h.Storage), err
}

// prepare makes a directory for children.
func prepare(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, sub := range []string{"agents", "data"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "agents", "desk.yaml"), []byte(desk), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// life is how one child lived.
type life struct {
	exit int // -1: it was killed
	log  string
}

// live runs a child under strace with these options.
func live(t *testing.T, dir string, acks int, strace ...string) life {
	t.Helper()
	tool, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed, and no system call can fail without it: apt-get install strace")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(tool, append(append([]string{"-f", "--seccomp-bpf", "-qq"}, strace...), self)...)
	cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s_ACKS=%d", childDir, acks))
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	exit := cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit = -1
	}
	text, readErr := os.ReadFile(log.Name())
	if exit >= 0 && exit != exitStore && exit != exitStart || readErr != nil {
		t.Fatalf("the child ended with %d, %v, %v: %s", exit, err, readErr, tail(string(text)))
	}
	return life{exit, string(text)}
}

func tail(text string) string { return text[max(0, len(text)-3000):] }

// acked are the lines of the file of acknowledgements.
func acked(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "acks"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1]
}
