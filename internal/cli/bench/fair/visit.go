package fair

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// visit starts a server on an empty place, and measures the small tenant beside a flood. It returns
// how long all of its runs took, and how many requests of the flood were answered meanwhile.
func (b *bench) visit(ctx context.Context, p served.Place, f flood) (took time.Duration, answered int64, err error) {
	if err := p.Prepare(map[string]string{"desk": fmt.Sprintf(agentFile, "http://"+b.model.addr+"/v1")}, large.grant(), small.grant()); err != nil {
		return 0, 0, err
	}
	if err := b.fill(ctx, p, f); err != nil {
		return 0, 0, err
	}
	server, err := b.start(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ctx, stop := served.UntilFull(ctx, b.caller(server, small))
	defer stop()
	defer func() { err = served.Why(ctx, err) }()
	rising := f.begin(ctx, b, b.caller(server, large))
	defer rising.stop()
	if err := rising.begun(ctx); err != nil {
		return 0, 0, err
	}
	before := rising.answered.Load()
	began := time.Now()
	if err := b.runs(ctx, b.caller(server, small)); err != nil {
		return 0, 0, err
	}
	return time.Since(began), rising.answered.Load() - before, nil
}

func (b *bench) start(ctx context.Context, p served.Place) (*served.Server, error) {
	return served.Start(ctx, b.Program, p, b.model.addr, "--tenant", large.name, "--tenant-runs", "0", "--tenant-bytes", "0")
}

// caller calls the server as a tenant, which has connections of its own.
func (b *bench) caller(server *served.Server, t tenant) *client.Client {
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(b.Hands, b.Runs)}}
	return client.New(server.URL, client.WithToken(t.token), client.WithRetries(0), client.WithHTTPClient(web))
}

// runs executes all runs of a tenant at once: each waits for an approval, gets it and ends.
func (b *bench) runs(ctx context.Context, api *client.Client) error {
	failed := make(chan error)
	for range b.Runs {
		go func() { failed <- whole(ctx, api) }()
	}
	var all error
	for range b.Runs {
		all = errors.Join(all, <-failed)
	}
	return all
}

func whole(ctx context.Context, api *client.Client) error {
	run, err := asked(ctx, api)
	if err != nil {
		return err
	}
	if err := approve(ctx, api, run.ID, run.Pending[0].Suspension.ID); err != nil {
		return err
	}
	for run.Status != client.StatusDone {
		if run, err = api.PollRun(ctx, run.ID, time.Second); err != nil {
			return err
		}
	}
	if run.Reason == nil || *run.Reason != client.ReasonNaturalEnd {
		return fmt.Errorf("a run did not end well: %+v", run)
	}
	return nil
}

// asked starts a run, and returns when it waits for an approval.
func asked(ctx context.Context, api *client.Client) (client.Run, error) {
	run, err := api.StartRun(ctx, client.StartRequest{Agent: "desk", Input: core.Encode(served.Request)}, "")
	if err != nil {
		return run, err
	}
	if run, err = api.WaitRun(ctx, run.ID); err == nil && len(run.Pending) != 1 {
		err = fmt.Errorf("a run does not wait for an approval: %+v", run)
	}
	return run, err
}

func approve(ctx context.Context, api *client.Client, run, suspension string) error {
	_, err := api.Decide(ctx, run, client.Decision{Target: suspension, DecisionID: suspension, Action: "resume"})
	return err
}
