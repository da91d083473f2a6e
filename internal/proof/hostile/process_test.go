//go:build unix

// Package hostile attacks a real server in a separate process with malicious input, from whole
// connections down to single bytes. During and after each attack, the server must answer other
// callers, and afterwards it must have released the resources that the attack took. The package has
// only tests and a benchmark. They check that the server responds; other tests check that its
// responses are right.
package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// binary is the program, built once for all tests of this package; hasty is the same with short
// times for slow senders. A server that has few seconds for an answer cuts off those that the
// machine takes longer for, so only tests of these times start it.
var binary, hasty string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dormouse-hostile")
	if err == nil {
		defer os.RemoveAll(dir)
		binary, hasty = filepath.Join(dir, "dormouse"), filepath.Join(dir, "hasty")
		err = build(binary, "")
		if flag.Parse(); !testing.Short() { // all its tests are long
			err = errors.Join(err, build(hasty, shortTimes()))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func shortTimes() string {
	const local = "github.com/dormouse-dev/dormouse/internal/local"
	return fmt.Sprintf("-X %[1]s.headerText=%[2]s -X %[1]s.bodyText=%[3]s -X %[1]s.answerText=%[4]s", local, headerTime, bodyTime, answerTime)
}

func build(to, flags string) error {
	out, err := exec.Command("go", "build", "-ldflags", flags, "-o", to, "../../../cmd/dormouse").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return nil
}

// server is one process of "dormouse dev".
type server struct {
	cmd  *exec.Cmd
	addr string // host:port
	api  *client.Client
	log  logged
	gone chan struct{}
}

// logged is what the process writes to its log, readable while it lives.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start serves the agents, by name, in a directory of its own until the test ends.
func start(t testing.TB, agents map[string]string, flags ...string) *server {
	t.Helper()
	return serve(t, binary, agents, flags...)
}

// serve is start with one of the two programs.
func serve(t testing.TB, program string, agents map[string]string, flags ...string) *server {
	t.Helper()
	dir := t.TempDir()
	for name, text := range agents {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"dev", "--json", "--addr", "127.0.0.1:0", "--agents", dir, "--data", filepath.Join(t.TempDir(), "data")}
	s := &server{cmd: exec.Command(program, append(args, flags...)...), gone: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "GOGC=100") // as in production: tests limit its memory
	s.cmd.Stderr = &s.log
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	served.Store(s.cmd.Process.Pid, true)
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		_ = s.cmd.Wait()
		served.Delete(s.cmd.Process.Pid)
		close(s.gone)
	}()
	t.Cleanup(func() { s.end(t) })
	var ready struct {
		URL string `json:"url"`
	}
	if err := errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		t.Fatalf("the program does not say where it listens: %v\n%s", err, s.log.String())
	}
	at, err := url.Parse(ready.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.addr, s.api = at.Host, client.New(ready.URL, client.WithRetries(0))
	return s
}

// end kills the process, and shows the end of its log if the test failed.
func (s *server) end(t testing.TB) {
	_ = s.cmd.Process.Kill()
	<-s.gone
	if text := s.log.String(); t.Failed() {
		lines := strings.Split(text, "\n")
		t.Logf("the end of the server's log:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}
