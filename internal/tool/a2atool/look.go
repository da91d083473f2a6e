package a2atool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

func (c *call) look(ctx context.Context) (peer.Report, error) {
	if c.task.ID == "" {
		return peer.Report{}, &fault{why: "has not acknowledged a task"}
	}
	if err := c.reach(ctx); err != nil {
		return peer.Report{}, err
	}
	return c.lookAt(ctx, c.task.ID)
}

// lookAt asks how far a task is.
func (c *call) lookAt(ctx context.Context, id string) (peer.Report, error) {
	return c.lookInto(ctx, id, 0)
}

// history is how many messages of a task are asked for if nothing else has its result. The first
// one is as long as the input.
const history = 4

func (c *call) lookInto(ctx context.Context, id string, history int) (peer.Report, error) {
	t, raw, err := c.get(ctx, id, history)
	if err != nil {
		return peer.Report{}, err
	}
	return c.report(ctx, t, raw, id)
}

func (c *call) get(ctx context.Context, id string, history int) (*a2a.Task, json.RawMessage, error) {
	return ask(ctx, c, func(ctx context.Context) (*a2a.Task, error) {
		return c.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(id), HistoryLength: &history})
	})
}

// stop cancels the task, or the one that an earlier Send may have begun. Without an error, the
// agent has confirmed that it does not work on it.
func (c *call) stop(ctx context.Context) (peer.Report, error) {
	err := c.cancel(ctx)
	if is(err, notFound) {
		err = nil
	}
	return peer.Report{}, err
}

func (c *call) cancel(ctx context.Context) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	id := c.task.ID
	if id == "" {
		found, asked, err := c.find(ctx)
		switch {
		case err != nil:
			return err
		case !asked:
			return &fault{why: "does not say which tasks it has, so the task can't be stopped"}
		case found == "" && !peer.Settled(c.request.Stops):
			return &fault{why: "knows no such task, and may still receive it"}
		case found == "":
			return nil
		}
		id = found
	}
	t, _, err := ask(ctx, c, func(ctx context.Context) (*a2a.Task, error) {
		return c.agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
	})
	switch {
	case err == nil && t.ID == a2a.TaskID(id) && t.Status.State.Terminal():
		return nil
	case err == nil:
		return &fault{why: "has not stopped the task yet"}
	case is(err, unreadable), rpcCode(err) != 0 && is(err, refused): // it may have ended before
		return c.over(ctx, id, err)
	}
	return err
}

// over returns nil if a task that was not cancelled has ended anyway, and otherwise why it was not
// cancelled.
func (c *call) over(ctx context.Context, id string, why error) error {
	t, _, err := c.get(ctx, id, 0)
	var f *fault
	switch {
	case err == nil && t.ID == a2a.TaskID(id) && t.Status.State.Terminal():
		return nil
	case errors.As(err, &f) && (f.kind == notFound || f.ended):
		return nil
	}
	return why
}
