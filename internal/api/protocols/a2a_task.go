package protocols

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/a2a"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// a2aRequest answers one request of a client. It implements [a2asrv.RequestHandler] on the runs of
// the server; the SDK has no store, no queue and no executor here.
type a2aRequest struct {
	d      A2A
	v      *httpapi.Visit
	params json.RawMessage
	fault  error // that is answered with an HTTP status
}

// longestSend is how long an answer waits for the run to end or to ask.
const longestSend = 20 * time.Second

// task is the run of a task that the caller can see at this agent.
func (h *a2aRequest) task(id sdk.TaskID, wait time.Duration) (wire.Run, error) {
	run, err := h.d.Reads.AwaitTree(h.v.Context(), h.v.Caller(), string(id), inTime(h.v.Context(), wait))
	if err == nil && run.Agent != h.v.PathValue("agent") {
		err = refusal.New(refusal.CodeRunNotFound, "the agent has no task with this id; check the id and the agent's address")
	}
	return run, err
}

// fold folds the events of a run, for its history if recall is set: then with the files of its
// messages. Otherwise with the runs below, as a stream does.
func (h *a2aRequest) fold(run, in string, recall bool) (*a2a.Fold, *project.Files, error) {
	f, files := a2a.NewFold(in), &project.Files{}
	return f, files, pages(func(after string) (wire.EventPage, error) {
		if recall {
			return h.v.Events(run, query.EventQuery{After: after, Limit: 1000, Data: true})
		}
		return h.v.Grown(run, query.EventQuery{After: after, Limit: 1000})
	}, func(e wire.Event) (err error) {
		if e, err = files.Take(e); err != nil {
			return err
		}
		return f.Push(e)
	})
}

// show is the task of a run with its newest messages: all if most is nil. data: with their files.
func (h *a2aRequest) show(run wire.Run, in string, most *int, data bool) (*sdk.Task, error) {
	t := a2a.Task(run, cmp.Or(in, h.context(run)))
	if most != nil && *most == 0 {
		return t, nil
	}
	f, files, err := h.fold(run.ID, t.ContextID, data)
	if err != nil {
		return nil, err
	}
	t.History = f.History(files)
	if n := len(t.History); most != nil && n > *most {
		t.History = t.History[n-*most:]
	}
	return t, nil
}

// contextKey is the member of a run's metadata with the context as its client calls it.
const contextKey = "a2a_context_id"

// context is what the client called the context when it began the run. Anybody may write metadata,
// so it is believed only if it leads to the thread.
func (h *a2aRequest) context(run wire.Run) string {
	var meta map[string]json.RawMessage
	var in string
	if json.Unmarshal(run.Metadata, &meta) == nil && json.Unmarshal(meta[contextKey], &in) == nil && h.leads(in, run.ThreadID) {
		return in
	}
	return run.ThreadID
}

// leads says whether a context is the thread: under its id, or under the key that a client gave it.
func (h *a2aRequest) leads(in, thread string) bool { return in == thread || h.keyed(in) == thread }

func (h *a2aRequest) keyed(in string) string { return frontend.KeyedThread(h.v.Caller().Tenant, in) }

func isThreadID(in string) bool { return strings.HasPrefix(in, "thr_") }

// GetTask implements [a2asrv.RequestHandler].
func (h *a2aRequest) GetTask(_ context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	if err := atLeast0(req.HistoryLength); err != nil {
		return nil, err
	}
	run, err := h.task(req.ID, 0)
	if err != nil {
		return nil, h.refused(err)
	}
	t, err := h.show(run, "", req.HistoryLength, true)
	return t, h.refused(err)
}

func atLeast0(n *int) error {
	if n != nil && *n < 0 {
		return sdk.NewError(sdk.ErrInvalidParams, "historyLength must be 0 or more")
	}
	return nil
}

// CancelTask implements [a2asrv.RequestHandler]. It waits a little for the run's end.
func (h *a2aRequest) CancelTask(_ context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	if err := h.v.May(access.Start, access.Decide); err != nil {
		return nil, h.refused(err)
	}
	run, err := h.task(req.ID, 0)
	if err == nil {
		_, err = h.d.Runs.Cancel(h.v.Context(), h.v.Caller(), run.ID)
	}
	if isRefusal(err, refusal.CodeRunDone) {
		return nil, sdk.NewError(sdk.ErrTaskNotCancelable, "the task has ended")
	}
	if err == nil {
		run, err = h.task(req.ID, longestSend)
	}
	if err != nil {
		return nil, h.refused(err)
	}
	t, err := h.show(run, "", nil, true)
	return t, h.refused(err)
}

// SendMessage implements [a2asrv.RequestHandler].
func (h *a2aRequest) SendMessage(context.Context, *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	m, err := a2a.ReadMessage(h.params)
	if err == nil {
		err = atLeast0(m.Config.History)
	}
	if err != nil {
		return nil, err
	}
	s, err := h.send(m)
	if err != nil {
		return nil, h.refused(err)
	}
	wait := longestSend
	if m.Config.Immediately {
		wait = 0
	}
	run, err := h.task(sdk.TaskID(s.run), wait)
	if err != nil {
		return nil, h.refused(err)
	}
	t, err := h.show(run, m.ContextID, m.Config.History, true)
	if err != nil {
		return nil, h.refused(err)
	}
	return t, nil
}

// begin does what a streaming request asks for, and says what of the run shows it.
func (h *a2aRequest) begin(method string) (run string, about url.Values, err error) {
	if method == "SubscribeToTask" {
		return h.subscribe()
	}
	m, err := a2a.ReadMessage(h.params)
	if err != nil {
		return "", nil, err
	}
	s, err := h.send(m)
	if err != nil {
		return "", nil, err
	}
	about = url.Values{"context": {s.context}, "message": s.message, "hold": s.hold}
	if s.after > 0 {
		about.Set("after", strconv.FormatInt(s.after, 10))
	}
	return s.run, about, nil
}

func (h *a2aRequest) subscribe() (string, url.Values, error) {
	var req sdk.SubscribeToTaskRequest
	if err := json.Unmarshal(h.params, &req); err != nil {
		return "", nil, sdk.NewError(sdk.ErrInvalidParams, "the request can't be read: "+err.Error())
	}
	run, err := h.task(req.ID, 0)
	switch {
	case err != nil:
		return "", nil, err
	case run.Status == core.RunDone.String():
		return "", nil, sdk.NewError(sdk.ErrUnsupportedOperation, "the task has ended, so it has no more updates; get it instead")
	}
	f, _, err := h.fold(run.ID, "", false)
	if err != nil {
		return "", nil, err
	}
	return run.ID, url.Values{"context": {h.context(run)}, "after": {strconv.FormatInt(f.Seq, 10)}, "follow": {"true"}}, nil
}

// states are the runs that are tasks in a state.
var states = map[sdk.TaskState]query.List{
	sdk.TaskStateUnspecified:   {},
	sdk.TaskStateSubmitted:     {Status: core.RunCreated.String()},
	sdk.TaskStateWorking:       {},
	sdk.TaskStateInputRequired: {Status: core.RunWaiting.String()},
	sdk.TaskStateCompleted:     {Status: core.RunDone.String()},
	sdk.TaskStateFailed:        {Status: core.RunDone.String()},
	sdk.TaskStateRejected:      {Status: core.RunDone.String(), Reason: core.Blocked.String()},
	sdk.TaskStateCanceled:      {Status: core.RunDone.String(), Reason: core.Cancelled.String()},
}

// mostRecalled is how many tasks are listed at once with their history: each is read whole.
const mostRecalled = 20

// ListTasks implements [a2asrv.RequestHandler]. Tasks are listed by the time of their start, newest
// first, without files. A page may be short, even empty, and have a next one.
func (h *a2aRequest) ListTasks(_ context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	list, known := states[req.Status]
	size := cmp.Or(req.PageSize, 50)
	recalls := req.HistoryLength != nil && *req.HistoryLength > 0
	page := &sdk.ListTasksResponse{Tasks: []*sdk.Task{}, PageSize: size}
	switch {
	case size < 1 || size > 100:
		return nil, sdk.NewError(sdk.ErrInvalidParams, "pageSize must be from 1 to 100")
	case !known: // no task is ever in it
		return page, nil
	case recalls:
		size = min(size, mostRecalled)
	}
	if err := atLeast0(req.HistoryLength); err != nil {
		return nil, err
	}
	list.Agent, list.Cursor, list.Limit = h.v.PathValue("agent"), req.PageToken, size
	runs, err := h.list(req.ContextID, list)
	if err != nil {
		return nil, h.refused(err)
	}
	for _, run := range runs.Items {
		none := 0
		t, err := h.show(run, req.ContextID, cmp.Or(req.HistoryLength, &none), false)
		if err != nil {
			return nil, h.refused(err)
		}
		if !req.IncludeArtifacts {
			t.Artifacts = nil
		}
		after := req.StatusTimestampAfter
		if (req.Status == "" || t.Status.State == req.Status) && (after == nil || !run.UpdatedAt.Before(*after)) {
			page.Tasks = append(page.Tasks, t)
		}
	}
	page.NextPageToken, page.TotalSize = runs.Next, len(page.Tasks)
	if runs.Next != "" {
		page.TotalSize++ // at least: to count them would be to read them
	}
	return page, nil
}

func (h *a2aRequest) list(in string, list query.List) (wire.Page[wire.Run], error) {
	if in == "" {
		return h.d.Reads.Runs(h.v.Context(), h.v.Caller(), list)
	}
	runs, err := h.d.Reads.ThreadRuns(h.v.Context(), h.v.Caller(), h.keyed(in), list)
	if isRefusal(err, refusal.CodeThreadNotFound) && isThreadID(in) {
		runs, err = h.d.Reads.ThreadRuns(h.v.Context(), h.v.Caller(), in, list)
	}
	if isRefusal(err, refusal.CodeThreadNotFound) {
		return wire.Page[wire.Run]{}, nil
	}
	return runs, err
}

// merged is the metadata of a run: the client's, and its name for the context.
func merged(client json.RawMessage, in string) (json.RawMessage, error) {
	meta := map[string]json.RawMessage{}
	if !core.IsNull(client) {
		var sent map[string]json.RawMessage
		if json.Unmarshal(client, &sent) != nil {
			return nil, errors.New("metadata must be an object")
		}
		maps.Copy(meta, sent)
	}
	meta[contextKey] = core.Encode(in)
	return core.Encode(meta), nil
}

// The requests of the protocol that this server doesn't do.

// GetExtendedAgentCard implements [a2asrv.RequestHandler].
func (*a2aRequest) GetExtendedAgentCard(context.Context, *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "the agent has no other card than its public one")
}

// unstreamed: streams don't come through the SDK.
func unstreamed(yield func(sdk.Event, error) bool) { yield(nil, sdk.ErrInvalidRequest) }

// SubscribeToTask implements [a2asrv.RequestHandler].
func (*a2aRequest) SubscribeToTask(context.Context, *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return unstreamed
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (*a2aRequest) SendStreamingMessage(context.Context, *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return unstreamed
}
