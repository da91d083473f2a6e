// Package served starts `dormouse dev` as a separate process, for benchmarks that measure a
// server from outside.
package served

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// Place is where a server keeps its files.
type Place struct{ Dir string }

// Agents, Data and Tokens are the directories and the file that the server is given.
func (p Place) Agents() string { return filepath.Join(p.Dir, "agents") }
func (p Place) Data() string   { return filepath.Join(p.Dir, "data") }
func (p Place) Tokens() string { return filepath.Join(p.Dir, "tokens") }

// File is the database in the data directory.
func (p Place) File() string { return filepath.Join(p.Data(), "dormouse.db") }

// Prepare writes the agents, by name, and tokens of administrators.
func (p Place) Prepare(agents map[string]string, grants ...access.Grant) error {
	if err := os.MkdirAll(p.Agents(), 0o700); err != nil {
		return err
	}
	for name, text := range agents {
		if err := os.WriteFile(filepath.Join(p.Agents(), name+".yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	var lines strings.Builder
	for _, g := range grants {
		lines.WriteString(g.Line() + "\n")
	}
	return os.WriteFile(p.Tokens(), []byte(lines.String()), 0o600)
}

// Server is a process that serves a place.
type Server struct {
	URL string
	Web *http.Client

	// when the process began
	Began time.Time

	cmd *exec.Cmd
	log *strings.Builder
}

// Start starts a server, and returns once it listens. The program is the command of the server,
// without the flags of `dormouse dev`; agents may connect to hosts.
func Start(ctx context.Context, program []string, p Place, hosts string, flags ...string) (*Server, error) {
	args := append(program[1:len(program):len(program)], "dev", "--json", "--watch=false", "--strict", "--addr", "127.0.0.1:0",
		"--agents", p.Agents(), "--data", p.Data(), "--tokens", p.Tokens(), "--allow-private-hosts", hosts)
	s := &Server{cmd: exec.CommandContext(ctx, program[0], append(args, flags...)...), log: new(strings.Builder), Web: &http.Client{}}
	s.cmd.Stderr = s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 20 * time.Second
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.Began = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var started struct{ URL string }
	if line, err := bufio.NewReader(out).ReadBytes('\n'); err != nil || json.Unmarshal(line, &started) != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start: %s", s.log), s.Stop())
	}
	s.URL = started.URL
	return s, nil
}

// Stop asks the server to stop, and waits until it has.
func (s *Server) Stop() error {
	s.Web.CloseIdleConnections()
	if s.cmd.Process.Signal(os.Interrupt) != nil { // not every system can
		s.cmd.Process.Kill()
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server: %w: %s", err, s.log)
	}
	return nil
}

// Memory returns the resident memory of the server in bytes; 0 where it is not known.
func (s *Server) Memory() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(kilobytes)[0], 64)
			return n * 1024
		}
	}
	return 0
}
