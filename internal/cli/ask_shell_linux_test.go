package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// shop is the program in a shell, with a server of its own.
type shop struct {
	t            *testing.T
	program, dir string
	addr         string
	server       *exec.Cmd
}

// serve starts the server, at the address that it had before.
func (s *shop) serve() {
	s.t.Helper()
	s.server = exec.CommandContext(s.t.Context(), s.program, "dev", "--example", "--addr", s.addr)
	s.server.Dir = s.dir
	out, err := s.server.StdoutPipe()
	if err == nil {
		err = s.server.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	if !said.Scan() {
		s.t.Fatal("the server says nothing")
	}
	s.addr = strings.TrimPrefix(address.FindString(said.Text()), "http://")
}

func (s *shop) kill() {
	_ = s.server.Process.Kill() // it may have ended
	_ = s.server.Wait()
}

func (s *shop) shell(script string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = s.dir, []string{"DORMOUSE_URL=http://" + s.addr, "PATH=" + filepath.Dir(s.program) + ":" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	return cmd
}

// TestAskInAShell kills the server while the command waits: what follows && runs after a yes alone.
func TestAskInAShell(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	s := shop{t: t, program: filepath.Join(buildDormouse(t, ""), "dormouse"), dir: t.TempDir(), addr: "127.0.0.1:0"}
	s.serve()
	t.Cleanup(func() { s.kill() })
	for answer, want := range map[string]string{"--approve": "deployed", "--deny": "kept, 1", "--approve --arguments '{}'": "kept, 5"} {
		asks := s.shell(`dormouse ask "Deploy 4.2?" --arg version=4.2 --key '` + answer + `' >&2 && echo deployed || echo kept, $?`)
		var said strings.Builder
		asks.Stdout = &said
		asks.Stderr = nil
		says, err := asks.StderrPipe()
		if err == nil {
			err = asks.Start()
		}
		if lines := bufio.NewScanner(says); err != nil || !lines.Scan() || !strings.Contains(lines.Text(), "asked; to answer") {
			t.Fatal(err, lines.Text())
		}
		out, err := s.shell(`dormouse ask "Deploy 4.2?" --arg version=4.2 --key '` + answer + `' --no-wait --json`).Output()
		var a wire.Ask
		if err != nil || json.Unmarshal(out, &a) != nil {
			t.Fatalf("%s, %v", out, err)
		}
		s.kill()
		s.serve()
		for s.shell(`dormouse decide `+a.ID+` `+answer+` >&2`).Run() != nil {
			if t.Context().Err() != nil {
				t.Fatal("the ask takes no answer")
			}
		}
		if err := asks.Wait(); err != nil || strings.TrimSpace(said.String()) != want {
			t.Errorf("%s: %q, %v; want %q", answer, said.String(), err, want)
		}
	}
}
