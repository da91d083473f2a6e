package measure

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	process "github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/iocount"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// embedded is the program that dormouse serve runs, in this process.
type embedded struct{ *raw }

func openEmbedded(ctx context.Context, dir string) (target, error) {
	if err := iocount.Install(); err != nil {
		return nil, err
	}
	disk, err := openRaw(ctx, dir)
	return embedded{disk}, err
}

// begin serves the agent of a desk with a new store in dir.
func (embedded) begin(ctx context.Context, dir string, desk *workload.Desk) (backend, error) {
	agents, err := writeAgents(dir)
	if err != nil {
		return nil, err
	}
	tools, err := tools(desk)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	data := filepath.Join(dir, "data")
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: data, Agents: agents, Strict: true, Tools: tools, Logger: slog.New(slog.DiscardHandler),
		Outside: local.Outside{Models: desk.Models()}})
	if err != nil {
		stop()
		return nil, err
	}
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	return &served{client.New("http://"+server.Addr(), client.WithRetries(0), client.WithHTTPClient(web)), server, stop, data}, nil
}

func (e embedded) close(context.Context) error { return e.pool.Close() }

// writeAgents writes the file of the agent, and returns its directory.
func writeAgents(dir string) (string, error) {
	agents := filepath.Join(dir, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		return "", err
	}
	return agents, os.WriteFile(filepath.Join(agents, workload.Agent+".yaml"), []byte(workload.AgentFile), 0o600)
}

func tools(desk *workload.Desk) (*tool.Registry, error) {
	r := tool.NewRegistry(slog.New(slog.DiscardHandler))
	return r, r.Register(desk.Tools()...)
}

// request starts a run of the agent.
func request() wire.StartRequest {
	return wire.StartRequest{Agent: workload.Agent, Input: core.Encode("Settle the orders of this week.")}
}

// served is a server, and its callers, who use HTTP.
type served struct {
	api    *client.Client
	server *local.Server
	stop   context.CancelFunc
	data   string
}

func (s *served) usable(ctx context.Context) (context.Context, context.CancelFunc) {
	return process.UntilFull(ctx, s.api)
}

func (s *served) start(ctx context.Context) (string, error) {
	run, err := s.api.StartRun(ctx, request(), "")
	return run.ID, err
}

func (s *served) settled(ctx context.Context, run string) (wire.Run, error) {
	return s.api.WaitRun(ctx, run)
}

func (s *served) decide(ctx context.Context, run string, d wire.Decision) error {
	_, err := s.api.Decide(ctx, run, d)
	return err
}

func (s *served) count() Costs {
	io := iocount.Read()
	return Costs{Fsyncs: float64(io.Syncs), Statements: float64(io.Statements), LogBytes: float64(io.LogBytes), WrittenBytes: float64(io.LogBytes + io.FileBytes)}
}

func (s *served) close() error {
	s.stop()
	return errors.Join(s.server.Wait(), os.RemoveAll(s.data))
}
