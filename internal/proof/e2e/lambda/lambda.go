// Package lambda stands in for the Lambda service: it builds functions for this machine, starts
// them as processes that speak the runtime API, several at once, gives each one invocation at a
// time, and kills them: at their timeout, when it is told to, and at random if it is asked to. It
// makes no events; who calls a function does that: [Poller], [Schedule], and the gateway. Memory is
// not limited, and nobody is billed.
package lambda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Function is what is to be started.
type Function struct {
	Name        string
	ARN         string
	Binary      string
	Environment map[string]string // of the template; what Lambda itself sets comes on top
	Timeout     time.Duration
	Memory      int // MB, told to the function
	Concurrency int // processes at once; 0 is no limit of its own
}

// Options are those of the service.
type Options struct {
	Logs   string // directory; one file for each function
	Region string
	Seed   uint64 // of the random kills
	Logger *slog.Logger
}

// Service runs functions. It is safe for concurrent use.
type Service struct {
	o  Options
	mu sync.Mutex

	functions map[string]*pool
	stopped   map[string]bool
	kills     kills
	counts    counts
}

type counts struct{ invocations, cold, killed, timeouts, failed atomic.Int64 }

// Counts say what has happened.
type Counts struct {
	Invocations int64 `json:"invocations"`
	ColdStarts  int64 `json:"cold_starts"`
	Kills       int64 `json:"kills"`    // by us, on purpose
	Timeouts    int64 `json:"timeouts"` // killed because their time was over
	Failures    int64 `json:"failures"` // that the function itself reported, or that it died of
}

// New makes a service without functions.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o, functions: map[string]*pool{}, stopped: map[string]bool{}, kills: kills{random: rand.New(rand.NewPCG(o.Seed, 1))}}
}

// Add makes a function known. Nothing is started before it is called.
func (s *Service) Add(f Function) error {
	log, err := os.OpenFile(filepath.Join(s.o.Logs, f.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[f.Name] = newPool(s, f, log)
	return nil
}

// Counts is what has happened up to now.
func (s *Service) Counts() Counts {
	return Counts{Invocations: s.counts.invocations.Load(), ColdStarts: s.counts.cold.Load(), Kills: s.counts.killed.Load(),
		Timeouts: s.counts.timeouts.Load(), Failures: s.counts.failed.Load()}
}

// Close kills all processes.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, p := range s.functions {
		err = errors.Join(err, p.close())
	}
	return err
}

// Error is an invocation that did not come to an answer: the function said so, died, or was out of
// time.
type Error struct {
	// as Lambda names it: Runtime.ExitError, Sandbox.Timedout, or the function's own
	Type    string
	Message string
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Reply is an answer. Body must be read to its end or closed; of a function that streams it comes
// while the function works, and reading it fails if the function dies in between.
type Reply struct {
	ContentType string
	Streams     bool
	Body        io.ReadCloser
}

// Invoke calls a function and returns once its answer begins. An [*Error] is an invocation that
// failed; any other error means there was none. When ctx ends before, the function works on: a
// caller that goes away does not end an invocation.
func (s *Service) Invoke(ctx context.Context, function string, event []byte) (*Reply, error) {
	s.mu.Lock()
	p, there := s.functions[function]
	stopped := s.stopped[function]
	s.mu.Unlock()
	if stopped {
		return nil, fmt.Errorf("%s is throttled: its reserved concurrency is 0", function)
	}
	if !there {
		return nil, fmt.Errorf("there is no function %q", function)
	}
	return p.invoke(ctx, event)
}

// Stop lets a function be called no more, or again. Invocations that run go on.
func (s *Service) Stop(function string, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped[function] = stopped
}

// Stopped says whether a function is stopped.
func (s *Service) Stopped(function string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped[function]
}

// Build compiles the function in dir, a directory of the module, for this machine as it would be
// for Lambda, and returns the binary, in out.
func Build(ctx context.Context, module, dir, out string) (string, error) {
	binary := filepath.Join(out, filepath.Base(dir), "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-o", binary, "./"+filepath.ToSlash(dir))
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", dir, err, said)
	}
	return binary, nil
}
