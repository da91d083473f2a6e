package sim_test

import (
	"context"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// taskGroup names the endpoints of the task that a story has.
const taskGroup = "tg_story"

// listeners are the endpoints of a task, and what came to them. Like the store that they are in,
// they survive each process.
type listeners struct {
	all   notice.Pushes
	asked map[string]int // by tool: how often its call was seen to wait
	ended int
}

// PutPushes implements [pushes.Store].
func (l *listeners) PutPushes(_ context.Context, p notice.Pushes) error {
	if p.Rev != l.all.Rev+1 {
		return engine.ErrRefused
	}
	l.all = p
	return nil
}

// Pushes implements [pushes.Store].
func (l *listeners) Pushes(_ context.Context, tenant, group string) (notice.Pushes, error) {
	if l.all.Rev == 0 {
		return notice.Pushes{}, engine.ErrNotFound
	}
	return l.all, nil
}

// heard is a notice that comes to a listener: the task as it is now. While the owner of the run may
// not know the listener, it comes later.
func (c *storyCast) heard(n delivery.Notice) delivery.Result {
	h := c.p.head()
	switch {
	case notice.HasNews(h) && h.Lease != 0:
		return delivery.Result{Outcome: notice.Refused, Error: "unheard"}
	case n.Kind == notice.Done:
		c.listeners.ended++
	}
	for tool, call := range c.p.witness.waiting {
		if h.Calls[call.CallID].Status == core.CallSuspended {
			c.listeners.asked[tool]++
		}
	}
	return delivery.Result{Outcome: notice.Delivered}
}

// startTask starts a run that others may listen to.
func (p *performance) startTask(text string) sending {
	key := p.key("start")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.StartPushed(ctx, who, key, wire.StartRequest{Agent: storyAgent, Input: core.Encode(text)}, taskGroup)
		if err == nil && len(p.threads) == 0 {
			p.threads = []string{got.Run.ThreadID}
		}
		return p.begun(key, text, got, err)
	}
}

// listen adds an endpoint to the task.
func (p *performance) listen() sending {
	run := p.run()
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		return true, p.desk.Create(ctx, who, run, notice.Push{ID: strings.ToLower(who.By), URL: "https://hooks.example.com/"})
	}
}
