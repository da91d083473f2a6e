// Package servers starts the local servers that stand for DynamoDB and SQS: dynoxide, moto and
// ElasticMQ, and an OpenID provider, each at the version that .ci/servers pins. It does not judge
// them: what each does differently from AWS stands in docs/contributing/emulators.md.
package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Region and Account are those of all servers, so that names and ARNs agree.
const (
	Region  = "us-east-1"
	Account = "123456789012"
)

// Server is one server that runs.
type Server struct {
	Name string // dynoxide, moto, elasticmq or oidc
	URL  string
	Log  string // file

	cmd   *exec.Cmd
	gone  chan struct{}
	front *http.Server // one request at a time, before a server that has no locks
}

// kind is how a server is started.
type kind struct {
	command func(tool, dir string, port int) (*exec.Cmd, error)
	serial  bool // needs a front that lets one request through at a time
}

var kinds = map[string]kind{
	"dynoxide":  {command: dynoxide},
	"moto":      {command: moto, serial: true},
	"elasticmq": {command: elasticmq},
	"oidc":      {command: oidc},
}

// ErrNotRun means that a server cannot be had here; the error says why. It is no failure of what
// was to be tested.
var ErrNotRun = errors.New("not run")

// readyLimit is how long a server may take until it answers.
const readyLimit = 60 * time.Second

// Start installs the server if need be, starts it on a free port of this machine with its log in
// dir, and returns once it answers. The caller closes it.
func Start(ctx context.Context, name, dir string, progress io.Writer) (*Server, error) {
	k, known := kinds[name]
	if !known {
		return nil, fmt.Errorf("there is no server %q; there are dynoxide, moto, elasticmq and oidc", name)
	}
	tool, err := Install(ctx, name, progress)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd, err := k.command(tool, dir, port)
	if err != nil {
		return nil, err
	}
	s := &Server{Name: name, URL: "http://127.0.0.1:" + strconv.Itoa(port), Log: filepath.Join(dir, name+".log"), cmd: cmd, gone: make(chan struct{})}
	if err := s.launch(ctx); err != nil {
		return nil, err
	}
	if k.serial {
		if err := s.putFront(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Install returns the directory of the tool, which .ci/servers makes if it is not there.
func Install(ctx context.Context, name string, progress io.Writer) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	var last bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(root, ".ci", "servers"), name)
	cmd.Stderr = io.MultiWriter(progress, &last)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
		return "", fmt.Errorf("%w: %s", ErrNotRun, lastLine(last.String()))
	}
	if err != nil {
		return "", fmt.Errorf("installing %s with .ci/servers: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Root is the directory of the module that the working directory is in.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("run this inside a clone of the repository: there is no go.mod here (%v)", err)
	}
	return filepath.Dir(mod), nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "not run: ")
}

// freePort is one that was free a moment ago. Nobody else on this machine is handed it so soon.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) launch(ctx context.Context) error {
	log, err := os.Create(s.Log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// so that an interrupt at the terminal reaches it last
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.Name, err)
	}
	go func() {
		_ = s.cmd.Wait() // that it was killed is no news
		close(s.gone)
	}()
	if err := s.ready(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// ready asks until the server answers anything at all.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if s.answers(ctx) {
			return nil
		}
		select {
		case <-s.gone:
			return fmt.Errorf("%s ended before it answered; its log is %s", s.Name, s.Log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer at %s (%w); its log is %s", s.Name, s.URL, ctx.Err(), s.Log)
		case <-again.C:
		}
	}
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return true
}

// Close kills the server, with nothing in between. What it held is gone.
func (s *Server) Close() error {
	var err error
	if s.front != nil {
		err = s.front.Close()
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.gone
	return err
}
