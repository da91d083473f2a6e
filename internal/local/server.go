package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/httpapi"
	"github.com/dormouse-dev/dormouse/internal/sqlite"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Options are what `dormouse dev` is started with.
type Options struct {
	Addr       string // host:port; port 0 picks a free one
	Data       string // directory, made if it is not there
	Agents     string // directory of agent files
	Workers    int    // 4 if zero
	TokensFile string // one bearer token a line; "" lets everybody in, on loopback only
	Tools      *tool.Registry
	Logger     *slog.Logger
	Version    string
}

// Timing of the embedded runtime. An activation may take as long as its lease; a process that dies is found by another one a
// lease and a sweep later, and by itself, started again alone, at once.
const (
	sweepPeriod = 5 * time.Second
	lease       = 2 * time.Minute
	drainTime   = 15 * time.Second // how long steps at hand may take when the process is asked to stop
	tenant      = "default"
)

// Server is a running embedded runtime.
type Server struct {
	addr string
	done chan struct{}
	err  error
}

// ErrNotLoopback refuses to let strangers in without a token.
var ErrNotLoopback = errors.New("this address can be reached from other machines: name a file of tokens with --tokens, or listen on 127.0.0.1")

// CheckAddr says whether the runtime may listen on addr: on a loopback address always, elsewhere only with tokens.
func CheckAddr(addr string, tokens bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address; write it as HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); tokens || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return ErrNotLoopback
}

// Start opens the data, deploys the agents and serves until ctx ends; then it takes no more work, finishes what is at hand and
// closes. What it cannot finish in time is left as after a crash: nothing is lost.
func Start(ctx context.Context, o Options) (*Server, error) {
	tokens, err := readTokens(o.TokensFile)
	if err != nil {
		return nil, err
	}
	if err := CheckAddr(o.Addr, len(tokens) > 0); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	clock, random := Clock{}, Random{}
	db, err := sqlite.Open(ctx, filepath.Join(o.Data, "dormouse.db"), sqlite.Options{Clock: clock, Random: random, Visibility: lease + time.Minute})
	if err != nil {
		return nil, err
	}
	share, err := lockData(o.Data, func() error {
		freed, err := db.FreeLeases(ctx)
		if freed > 0 {
			o.Logger.Info("took over what a stopped process left behind", "runs", freed)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	agents := NewAgents(db, o.Tools, o.Agents)
	deployed, err := agents.Deploy(ctx, tenant)
	if err != nil {
		share.release()
		return nil, errors.Join(err, db.Close())
	}
	for _, d := range deployed {
		o.Logger.Info("agent", "name", d.Name, "version", d.Digest())
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		share.release()
		return nil, errors.Join(err, db.Close())
	}
	eng := engine.New(engine.Options{Store: db, Waker: db, Agents: agents, Clock: clock, Random: random, Logger: o.Logger,
		Notifier: notices{o.Logger}, Lease: lease, Grain: sweepPeriod})
	front := frontend.New(frontend.Options{Store: db, Catalog: db, Waker: db, Clock: clock, Random: random, Describe: agents.Describe})
	work := &pool{queue: db, engine: eng, clock: clock, arrived: db.Arrived(), log: o.Logger}
	overdue := &sweep{store: db, waker: db, clock: clock, period: sweepPeriod, log: o.Logger}
	web := &http.Server{Handler: httpapi.New(httpapi.Options{Frontend: front, Tokens: tokens, Version: o.Version, Logger: o.Logger}),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)}
	s := &Server{addr: listener.Addr().String(), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = errors.Join(serve(ctx, web, listener, work, overdue, max(o.Workers, 0)), db.Close())
		share.release()
	}()
	return s, nil
}

// serve runs until ctx ends, or the web server fails, and everything has stopped.
func serve(ctx context.Context, web *http.Server, listener net.Listener, work *pool, overdue *sweep, workers int) error {
	if workers == 0 {
		workers = 4
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	atHand, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var wg sync.WaitGroup
	wg.Go(func() { work.run(ctx, atHand, workers) })
	wg.Go(func() { overdue.run(ctx) })
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		stop()
	}
	late := time.AfterFunc(drainTime, abandon)
	defer late.Stop()
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if web.Shutdown(down) != nil {
		web.Close()
	}
	wg.Wait()
	return err
}

// Addr is where the API listens.
func (s *Server) Addr() string { return s.addr }

// Wait returns once everything has stopped.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// readTokens hashes the tokens of a file: one a line, blank lines and lines that begin with # left out.
func readTokens(file string) ([][sha256.Size]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	var tokens [][sha256.Size]byte
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			tokens = append(tokens, sha256.Sum256([]byte(line)))
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s holds no token; write one a line", file)
	}
	return tokens, nil
}

// notices tells whoever reads the log that a call waits.
type notices struct{ log *slog.Logger }

func (n notices) Notify(_ context.Context, what engine.Notice) error {
	n.log.Info("a call waits for an answer", "run", what.Run, "tool", what.Call.ToolName, "kind", what.Call.Kind,
		"answer", fmt.Sprintf("dormouse decide %s %s", what.Run, what.Call.Suspension.ID))
	return nil
}
