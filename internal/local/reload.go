package local

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// reloadPeriod is how often agent files are looked at. A change counts once the files are the same
// at two looks, so that a file that is being written is left alone.
const reloadPeriod = 500 * time.Millisecond

// reloader deploys agent files that change while the server works, for runs that start from then
// on.
type reloader struct {
	clock  engine.Clock
	log    *slog.Logger
	deploy func(context.Context, []agentfile.File) ([]program.Change, error)
	tell   func([]program.Change) // nil for none

	mu      sync.Mutex
	files   agentFiles
	served  contents // what was deployed last
	waiting contents // a change that is not deployed yet; nil for none
	failed  bool     // to deploy it was tried
	trouble string   // that was logged last
}

// reloader looks at the files as they are before the start reads them: what is changed later is
// noticed, and deployed if the start has not done it.
func (d *data) reloader(o Options, agents *program.Agents, known *tokens) *reloader {
	r := &reloader{clock: o.clock, log: o.Logger, tell: o.Reloaded, files: agentFiles{dir: o.Agents, clock: o.clock},
		deploy: func(ctx context.Context, files []agentfile.File) ([]program.Change, error) {
			tenants, err := d.tenants(ctx, agents, known)
			if err != nil {
				return nil, err
			}
			return agents.Reload(ctx, files, tenants...)
		}}
	if !o.Watch {
		return r
	}
	if files, err := r.files.read(); err == nil {
		r.served = contentsOf(files)
	}
	return r
}

func (r *reloader) run(ctx context.Context) {
	for engine.Sleep(ctx, r.clock, reloadPeriod) == nil {
		r.look(ctx)
	}
}

// look deploys what has changed and is not being changed any more.
func (r *reloader) look(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil && !r.files.touched() {
		return
	}
	files, err := r.files.read()
	if err != nil {
		if r.news(err) {
			r.log.Warn("cannot read the agents directory; the deployed versions stay in use", "error", err)
		}
		return
	}
	now := contentsOf(files)
	switch {
	case maps.Equal(now, r.served) && !r.failed:
		r.waiting, r.trouble = nil, ""
	case r.waiting == nil || !maps.Equal(now, r.waiting):
		r.waiting = now
	default:
		_ = r.reload(ctx, files)
	}
}

// again deploys the files as they are, which the start could not do.
func (r *reloader) again(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.files.read()
	if err != nil {
		return err
	}
	return r.reload(ctx, files)
}

func (r *reloader) reload(ctx context.Context, files []agentfile.File) error {
	changes, err := r.deploy(ctx, files)
	if r.failed = err != nil; r.failed {
		r.waiting = contentsOf(files)
		if r.news(err) && ctx.Err() == nil {
			r.log.Warn("cannot store changed agents; retrying", "error", err)
		}
		return err
	}
	r.served, r.waiting, r.trouble = contentsOf(files), nil, ""
	for _, c := range changes {
		r.write(c)
	}
	if r.tell != nil && len(changes) > 0 {
		r.tell(changes)
	}
	return nil
}

// news says whether a trouble is another one than that before.
func (r *reloader) news(err error) bool {
	before := r.trouble
	r.trouble = err.Error()
	return r.trouble != before
}

func (r *reloader) write(c program.Change) {
	switch c.What {
	case program.Removed:
		r.log.Info("an agent was removed; its runs continue", "agent", c.Name)
	case program.Incomplete:
		warnIncomplete(r.log, c.Problems)
	case program.Refused:
		wrong := make([]string, len(c.Problems))
		for i, p := range c.Problems {
			wrong[i] = p.String()
		}
		r.log.Warn("a changed agent file has a mistake; a version that is in use stays in use",
			"agent", c.Name, "version", c.Version, "error", strings.Join(wrong, "\n"))
	default:
		r.log.Info("agent files were read again", "agent", c.Name, "version", c.Version, "change", string(c.What))
	}
}

// warnIncomplete warns of agents that are served although calls of them will fail.
func warnIncomplete(log *slog.Logger, problems []agentfile.Problem) {
	for _, p := range problems {
		log.Warn("a tool calls an agent that does not exist; its calls fail until the agent is served", "error", p.String())
	}
}
