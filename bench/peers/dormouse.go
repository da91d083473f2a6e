//go:build linux

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const dormouseAgent = `name: bench
model: {provider: openai, model: scripted, base_url: "%s", stream: false}
tools:
  - {name: look, description: Looks an order up., go: look}
  - {name: refund, description: Refunds an order., go: refund}
permissions: {allow: [look], ask: [refund]}
stop: [{max_rounds: unlimited}]
`

var ours = peer{name: "dormouse", title: "Dormouse",
	version: func(string) string {
		commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
		return strings.TrimSpace(string(commit))
	},
	start: startDormouse}

func startDormouse(ctx context.Context, w *world) (caller, error) {
	agents := filepath.Join(w.dir, "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(agents, "bench.yaml"), fmt.Appendf(nil, dormouseAgent, w.model), 0o644); err != nil {
		return nil, err
	}
	model, err := url.Parse(w.model)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr := freeAddr()
	err = w.spawn(nil, nil, program, asDesk, "serve", "--addr", addr, "--agents", agents, "--data", filepath.Join(w.dir, "data"),
		"--allow-private-hosts", model.Host)
	if err != nil {
		return nil, err
	}
	c := &dormouseCaller{api: client.New("http://"+addr, client.WithRetries(0)), runs: map[string]string{}, waiting: map[string]string{}}
	return c, until(ctx, func() error {
		_, err := c.api.RunPage(ctx, client.RunFilter{})
		return err
	})
}

// dormouseCaller uses the public API. The server draws the ids of runs.
type dormouseCaller struct {
	api           *client.Client
	runs, waiting map[string]string
}

func (c *dormouseCaller) start(ctx context.Context, id string, _ int) error {
	run, err := c.api.StartRun(ctx, client.StartRequest{Agent: "bench", Input: core.Encode("Settle the orders of this week.")}, id)
	c.runs[id] = run.ID
	return err
}

func (c *dormouseCaller) waits(ctx context.Context, id string) error {
	run, err := c.api.WaitRun(ctx, c.runs[id])
	if err == nil && len(run.Pending) != 1 {
		err = fmt.Errorf("run %s does not wait: %+v", run.ID, run)
	}
	if err == nil {
		c.waiting[id] = run.Pending[0].Suspension.ID
	}
	return err
}

func (c *dormouseCaller) approve(ctx context.Context, id string, _ int) error {
	_, err := c.api.Decide(ctx, c.runs[id], client.Decision{Target: c.waiting[id], DecisionID: c.waiting[id], Action: "resume"})
	return err
}

func (c *dormouseCaller) done(ctx context.Context, id string) error {
	run, err := c.api.WaitRun(ctx, c.runs[id])
	if err == nil && (run.Reason == nil || *run.Reason != client.ReasonNaturalEnd) {
		err = fmt.Errorf("run %s did not end: %+v", run.ID, run)
	}
	return err
}
