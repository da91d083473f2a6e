package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

const (
	healthTries = 100
	healthPause = 50 * time.Millisecond
	stopLimit   = 10 * time.Second
)

// server is one life of "refund-desk dev".
type server struct {
	cmd  *exec.Cmd
	log  *bytes.Buffer
	url  string
	api  *client.Client
	gone chan struct{} // closed once the process has ended; how is what Wait said of it
	how  error
}

// startServer starts the program on a free port of this machine and returns when it answers.
func startServer(ctx context.Context, o options, data string) (*server, error) {
	s := &server{gone: make(chan struct{}), log: &bytes.Buffer{}}
	s.cmd = exec.CommandContext(ctx, o.binary, "dev", "--json", "--addr", "127.0.0.1:0", "--data", data, "--agents", o.agents)
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s (make demo builds it): %w", o.binary, err)
	}
	var ready struct {
		URL string `json:"url"`
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		s.how = s.cmd.Wait()
		close(s.gone)
	}()
	if err := errors.Join(readErr, json.Unmarshal(line, &ready)); err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not say where it listens: %w", err), s.stop(), s.said())
	}
	s.url = ready.URL
	s.api = client.New(s.url, client.WithRetries(0))
	if err := s.healthy(ctx); err != nil {
		return nil, errors.Join(err, s.stop(), s.said())
	}
	return s, nil
}

// healthy asks until the server answers, a bounded number of times.
func (s *server) healthy(ctx context.Context) error {
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	var err error
	for range healthTries {
		if _, err = s.api.Health(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
	return fmt.Errorf("the server at %s does not answer: %w", s.url, err)
}

// kill ends the server as a power cut would, and returns how its process ended.
func (s *server) kill() (string, error) {
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return "", err
	}
	<-s.gone
	return s.cmd.ProcessState.String(), nil
}

// stop asks the server to end, and makes it after a while. A server that is gone already, or never
// was, is fine.
func (s *server) stop() error {
	if s == nil {
		return nil
	}
	select {
	case <-s.gone:
		return nil
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.gone:
		return s.how
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("the server did not end within %s of SIGTERM", stopLimit), s.cmd.Process.Kill())
	}
}

// said is what the server wrote to its log, as an error to put beside another; nil if it wrote
// nothing or still runs.
func (s *server) said() error {
	select {
	case <-s.gone:
	default:
		return nil
	}
	if s.log.Len() == 0 {
		return nil
	}
	return errors.New("the server's log: " + s.log.String())
}
