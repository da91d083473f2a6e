package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// List says which part of a list is wanted. Zero members ask for nothing special.
type List struct {
	Status        string // of runs only
	Agent         string
	Reason        string            // of runs only
	ResponseState string            // of runs only
	Metadata      map[string]string // of runs only
	Period                          // of runs only
	Kind          string            // of approvals only
	Thread        string            // of approvals only
	Limit         int
	Cursor        string
	Data          bool // of messages: with the bytes of images and documents
}

// Period limits a list to what was created at or after one time and before another. A zero time
// sets no limit.
type Period struct{ CreatedAfter, CreatedBefore time.Time }

func (p Period) add(q url.Values) {
	addTime(q, "created_after", p.CreatedAfter)
	addTime(q, "created_before", p.CreatedBefore)
}

func (l List) query() url.Values {
	q := url.Values{}
	add(q, "status", l.Status)
	add(q, "agent", l.Agent)
	add(q, "reason", l.Reason)
	add(q, "response_state", l.ResponseState)
	for key, value := range l.Metadata {
		q.Set("metadata."+key, value)
	}
	l.Period.add(q)
	add(q, "kind", l.Kind)
	add(q, "thread_id", l.Thread)
	add(q, "cursor", l.Cursor)
	addNumber(q, "limit", l.Limit)
	if l.Data {
		q.Set("data", "true")
	}
	return q
}

func add(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func addTime(q url.Values, name string, at time.Time) {
	if !at.IsZero() {
		q.Set(name, at.Format(time.RFC3339Nano))
	}
}

func addNumber(q url.Values, name string, n int) {
	if n > 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

// wholeSeconds rounds up, so that a short wait is still one.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func runPath(id, rest string) string    { return "/v1/runs/" + url.PathEscape(id) + rest }
func threadPath(id, rest string) string { return "/v1/threads/" + url.PathEscape(id) + rest }

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var v T
	err := c.do(ctx, request{method: http.MethodGet, path: path, query: q}, &v)
	return v, err
}

// StartRun starts a run. With a key the request may be sent again and starts one run.
func (c *Client) StartRun(ctx context.Context, req wire.StartRequest, key string) (wire.Run, error) {
	var run wire.Run
	err := c.do(ctx, request{method: http.MethodPost, path: "/v1/runs", body: req,
		header: map[string]string{keyHeader: key}}, &run)
	return run, err
}

// Run reads a run. With a wait the server holds the answer until the run waits for somebody or is
// done, at most so long and never longer than its own limit.
func (c *Client) Run(ctx context.Context, id string, wait time.Duration) (wire.Run, error) {
	var run wire.Run
	header := map[string]string{}
	if n := wholeSeconds(wait); n > 0 {
		header["Prefer"] = "wait=" + strconv.Itoa(n)
	}
	err := c.do(ctx, request{method: http.MethodGet, path: runPath(id, ""), header: header}, &run)
	return run, err
}

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, l List) (wire.Page[wire.Run], error) {
	return get[wire.Page[wire.Run]](ctx, c, "/v1/runs", l.query())
}

// Decide answers a suspended call. Another decision that was first is an [*Error] with its winner.
func (c *Client) Decide(ctx context.Context, run string, d wire.Decision) (wire.DecisionAnswer, error) {
	var answer wire.DecisionAnswer
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/decisions"), body: d}, &answer)
	return answer, err
}

// DecideAll sends several decisions; each has its own answer, in the same order.
func (c *Client) DecideAll(ctx context.Context, run string, ds []wire.Decision) ([]wire.DecisionAnswer, error) {
	var answers wire.DecisionAnswers
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/decisions"), body: wire.Decisions{Decisions: ds}}, &answers)
	return answers.Answers, err
}

// Cancel asks for the end of a run, which comes at its next commit.
func (c *Client) Cancel(ctx context.Context, run string) error {
	return c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/cancel")}, nil)
}

// Interrupt asks a run to pause after its next commit. With a key the request may be sent again,
// also after the run was resumed.
func (c *Client) Interrupt(ctx context.Context, run, key string) (wire.Run, error) {
	var paused wire.Run
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/interrupt"), header: map[string]string{keyHeader: key}}, &paused)
	return paused, err
}

// Resume lets an interrupted run go on. A run that is not interrupted is an [*Error] of code
// not_waiting.
func (c *Client) Resume(ctx context.Context, run string, req wire.ResumeRequest) (wire.DecisionAnswer, error) {
	var answer wire.DecisionAnswer
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/resume"), body: req}, &answer)
	return answer, err
}

// Retry starts a run that goes on where one that ended in error stopped, and returns it. Sent
// again, with the same key or without one both times, it returns the same run.
func (c *Client) Retry(ctx context.Context, run, key string) (wire.Run, error) {
	var again wire.Run
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/retry"), header: map[string]string{keyHeader: key}}, &again)
	return again, err
}

// Events reads a run's events from behind the cursor after; with a wait the server holds an empty
// answer so long.
func (c *Client) Events(ctx context.Context, run, after string, wait time.Duration, limit int) (wire.EventPage, error) {
	q := url.Values{}
	add(q, "after", after)
	addNumber(q, "wait", wholeSeconds(wait))
	addNumber(q, "limit", limit)
	return get[wire.EventPage](ctx, c, runPath(run, "/events"), q)
}

// Thread reads a conversation's newest state.
func (c *Client) Thread(ctx context.Context, id string) (wire.Thread, error) {
	return get[wire.Thread](ctx, c, threadPath(id, ""), nil)
}

// ThreadRuns lists the runs of a thread, newest first.
func (c *Client) ThreadRuns(ctx context.Context, id string, l List) (wire.Page[wire.Run], error) {
	return get[wire.Page[wire.Run]](ctx, c, threadPath(id, "/runs"), l.query())
}

// Messages reads the whole conversation, page after page.
func (c *Client) Messages(ctx context.Context, thread string) ([]wire.Message, error) {
	return c.allMessages(ctx, thread, List{})
}

// WholeMessages is Messages with the bytes of images and documents.
func (c *Client) WholeMessages(ctx context.Context, thread string) ([]wire.Message, error) {
	return c.allMessages(ctx, thread, List{Data: true})
}

func (c *Client) allMessages(ctx context.Context, thread string, l List) ([]wire.Message, error) {
	var all []wire.Message
	for {
		page, err := c.MessagePage(ctx, thread, l)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if l.Cursor = page.Next; l.Cursor == "" {
			return all, nil
		}
	}
}

// MessagePage reads a page of the conversation, oldest first.
func (c *Client) MessagePage(ctx context.Context, thread string, l List) (wire.Page[wire.Message], error) {
	return get[wire.Page[wire.Message]](ctx, c, threadPath(thread, "/messages"), l.query())
}

// SendMessage gives a thread a new turn and returns the run that has it. With a key the request may
// be sent again.
func (c *Client) SendMessage(ctx context.Context, thread string, req wire.MessageRequest, key string) (wire.Run, error) {
	var run wire.Run
	err := c.do(ctx, request{method: http.MethodPost, path: threadPath(thread, "/messages"), body: req,
		header: map[string]string{keyHeader: key}}, &run)
	return run, err
}

// Approvals lists the calls that wait for an answer, over all runs.
func (c *Client) Approvals(ctx context.Context, l List) (wire.Page[wire.Approval], error) {
	return get[wire.Page[wire.Approval]](ctx, c, "/v1/approvals", l.query())
}

// MakeLink makes an approval link for one recipient. Sent again it makes another one.
func (c *Client) MakeLink(ctx context.Context, run string, req wire.LinkRequest) (wire.Link, error) {
	var l wire.Link
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/links"), body: req}, &l)
	return l, err
}

// Links lists the approval links of a run, without the paths that answer.
func (c *Client) Links(ctx context.Context, run string) (wire.Page[wire.Link], error) {
	return get[wire.Page[wire.Link]](ctx, c, runPath(run, "/links"), nil)
}

// RevokeLink ends an approval link.
func (c *Client) RevokeLink(ctx context.Context, run, link string) (wire.Link, error) {
	var l wire.Link
	err := c.do(ctx, request{method: http.MethodDelete, path: runPath(run, "/links/"+url.PathEscape(link))}, &l)
	return l, err
}

// Agents lists what can be run.
func (c *Client) Agents(ctx context.Context) ([]wire.Agent, error) {
	page, err := get[wire.Page[wire.Agent]](ctx, c, "/v1/agents", nil)
	return page.Items, err
}

// Agent shows the deployed version of an agent.
func (c *Client) Agent(ctx context.Context, name string) (wire.Agent, error) {
	return get[wire.Agent](ctx, c, "/v1/agents/"+url.PathEscape(name), nil)
}

// Health asks whether the server is there.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	return get[wire.Health](ctx, c, "/healthz", nil)
}
