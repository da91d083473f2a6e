package measure

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/iocount"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// embedded is the program that dormouse serve runs, in this process, and its callers, who use HTTP.
type embedded struct {
	api    *client.Client
	server *local.Server
	stop   context.CancelFunc
}

// startEmbedded serves the agent of a desk with a new store in dir.
func startEmbedded(ctx context.Context, dir string, desk *workload.Desk) (backend, error) {
	if err := iocount.Install(); err != nil {
		return nil, err
	}
	agents := filepath.Join(dir, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(agents, "bench.yaml"), []byte(workload.AgentFile), 0o600); err != nil {
		return nil, err
	}
	silent := slog.New(slog.DiscardHandler)
	tools := tool.NewRegistry(silent)
	if err := tools.Register(desk.Tools()...); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Agents: agents, Strict: true, Tools: tools, Logger: silent,
		Outside: local.Outside{Models: desk.Models()}})
	if err != nil {
		stop()
		return nil, err
	}
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	return &embedded{client.New("http://"+server.Addr(), client.WithRetries(0), client.WithHTTPClient(web)), server, stop}, nil
}

func (e *embedded) start(ctx context.Context) (string, error) {
	run, err := e.api.StartRun(ctx, wire.StartRequest{Agent: workload.Agent, Input: core.Encode("Settle the orders of this week.")}, "")
	return run.ID, err
}

func (e *embedded) settled(ctx context.Context, run string) (wire.Run, error) {
	return e.api.WaitRun(ctx, run)
}

func (e *embedded) decide(ctx context.Context, run string, d wire.Decision) error {
	_, err := e.api.Decide(ctx, run, d)
	return err
}

func (e *embedded) count() Costs {
	io := iocount.Read()
	return Costs{Fsyncs: float64(io.Syncs), Statements: float64(io.Statements), LogBytes: float64(io.LogBytes), WrittenBytes: float64(io.LogBytes + io.FileBytes)}
}

func (e *embedded) close() error {
	e.stop()
	return e.server.Wait()
}
