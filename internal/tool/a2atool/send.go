package a2atool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// send gives the agent the task. If an earlier Send may have arrived, it looks for its task first.
func (c *call) send(ctx context.Context) (peer.Report, error) {
	k, err := c.introduce(ctx)
	if err != nil {
		return peer.Report{}, err
	}
	if c.request.Again {
		id, _, err := c.find(ctx)
		switch {
		case err != nil:
			return peer.Report{}, err
		case id != "":
			return c.lookAt(ctx, id)
		case c.request.Once: // this call proves nothing about an earlier one
			return peer.Report{State: peer.Unclear, Task: c.task,
				Detail: c.says("may have received the task, and does not say so")}, nil
		}
	}
	push := ""
	if k.Capabilities.Pushes {
		push = c.request.Push
	}
	report, err := c.post(ctx, push)
	if push != "" && rpcCode(err) == rpcPushesNothing {
		return c.post(ctx, "") // it has refused the whole message
	}
	return report, err
}

// post sends the message. The agent tells the result later: it is not waited for.
func (c *call) post(ctx context.Context, push string) (peer.Report, error) {
	message := &a2a.Message{ID: c.request.Key, ContextID: c.request.Context, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(c.request.Input)}}
	config := &a2a.SendMessageConfig{ReturnImmediately: true, HistoryLength: new(int)}
	if push != "" {
		config.PushConfig = &a2a.PushConfig{URL: push}
	}
	c.posted = true
	read, raw, err := ask(ctx, c, func(ctx context.Context) (a2a.SendMessageResult, error) {
		return c.agent.SendMessage(ctx, &a2a.SendMessageRequest{Message: message, Config: config})
	})
	if err != nil {
		return peer.Report{}, err
	}
	var sent struct{ Task, Message json.RawMessage }
	if json.Unmarshal(raw, &sent) != nil {
		return peer.Report{}, c.misread(raw, "is neither a task nor a message")
	}
	switch read := read.(type) {
	case *a2a.Task:
		c.task.Pushes = push != ""
		return c.report(ctx, read, sent.Task, "")
	case *a2a.Message:
		return c.answered(read, sent.Message)
	}
	return peer.Report{}, c.misread(raw, "is neither a task nor a message")
}

// Limits of looking for a task. The context is of one task, so an honest agent lists one.
const (
	mostPages = 5
	pageSize  = 20
)

// listed is how many messages of each task are asked for: the one that began it is its oldest.
var listed = 20

// find looks for the task that an earlier Send began. asked is false if the agent does not say
// which tasks there are.
func (c *call) find(ctx context.Context) (id string, asked bool, err error) {
	of := cmp.Or(c.request.Task.Context, c.request.Context)
	if of == "" {
		return "", false, nil // every caller's tasks
	}
	var alone []string
	token := ""
	for range mostPages {
		page, _, err := ask(ctx, c, func(ctx context.Context) (*a2a.ListTasksResponse, error) {
			return c.agent.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: of, PageSize: pageSize, PageToken: token, HistoryLength: &listed})
		})
		switch {
		case is(err, unreadable), rpcCode(err) != 0 && !is(err, unreached):
			return "", false, nil
		case err != nil:
			return "", false, err
		}
		for _, t := range page.Tasks {
			switch {
			case t == nil:
			case c.began(t):
				return string(t.ID), true, nil
			case t.ContextID == of: // an agent may list the tasks of other contexts too
				alone = append(alone, string(t.ID))
			}
		}
		if token = page.NextPageToken; token == "" {
			asked = true
			break
		}
	}
	switch {
	case !asked, len(alone) > 1:
		return "", false, nil
	case len(alone) == 1:
		return alone[0], true, nil
	}
	return "", true, nil
}

// began reports whether the message of the request is in the history of a task.
func (c *call) began(t *a2a.Task) bool {
	return slices.ContainsFunc(t.History, func(m *a2a.Message) bool { return m != nil && m.ID == c.request.Key })
}
