package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/backoff"
	"github.com/dormouse-dev/dormouse/client/internal/paging"
)

// The statuses of a run.
const (
	StatusCreated = "created" // stored, not started yet
	StatusRunning = "running" // a worker works on it, or its model doesn't answer
	StatusWaiting = "waiting" // suspended: its Pending calls wait for answers
	StatusDone    = "done"    // it ended; its Reason says why
)

// The reasons why a run ended.
const (
	ReasonNaturalEnd        = "natural_end"        // the model gave its final answer
	ReasonBehaviorRequested = "behavior_requested" // a hook asked to end the run
	ReasonStopped           = "stopped"            // a limit was reached; Code names it
	ReasonCancelled         = "cancelled"          // a caller cancelled the run
	ReasonBlocked           = "blocked"            // a rule ended the run; Code names it
	ReasonError             = "error"              // the run failed; Error says why
)

// What a request does if the run of its thread is open.
const (
	OnPendingRefuse  = "refuse"  // refuse the request; the default
	OnPendingAbandon = "abandon" // abandon the suspended calls
	OnPendingQueue   = "queue"   // queue the input until the run ends
)

// StartRequest starts a run; see [Client.StartRun].
type StartRequest struct {
	// The name of the agent.
	Agent string `json:"agent"`
	// The user's input: [Text] or [Parts].
	Input json.RawMessage `json:"input"`
	// The conversation to continue. Omit it to start a new one.
	ThreadID string `json:"thread_id,omitempty"`
	// Your id for the conversation, at most 255 bytes. The conversation is created if it
	// doesn't exist. Can't be combined with ThreadID.
	ThreadKey string `json:"thread_key,omitempty"`
	// Your id for the input, at most 128 bytes; see [MessageRequest.MessageID].
	MessageID string `json:"message_id,omitempty"`
	// Stored and returned with the run. At most 2,048 bytes as compact JSON.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// What to do if the run of ThreadID is open; see [OnPendingRefuse].
	OnPending string `json:"on_pending,omitempty"`
	// Further restrictions for this run, as rules of agent files. At most 1,024 bytes.
	Permissions json.RawMessage `json:"permissions,omitempty"`
	// false: the run neither reads nor writes the agent's memory.
	Memory *bool `json:"memory,omitempty"`
	// Who is notified of this run, beside the targets of the agent. At most 5.
	Notify []NotifyTarget `json:"notify,omitempty"`
	Supplied
}

// ResumeRequest resumes an interrupted run; see [Client.Resume]. All fields are optional.
type ResumeRequest struct {
	// The caller's key for this request, at most 255 bytes. A repeat with the same key has no
	// further effect. If it is empty, the client makes one for this call, so that a retry
	// doesn't resume a later interruption.
	DecisionID string `json:"decision_id,omitempty"`
	// The reason, for the record.
	Reason string `json:"reason,omitempty"`
}

// MessageRequest is a user message for a thread; see [Client.SendMessage].
type MessageRequest struct {
	// The user's message: [Text] or [Parts].
	Input json.RawMessage `json:"input"`
	// Your id for the message, at most 128 bytes. It works like an idempotency key. A request
	// with both is refused.
	MessageID string `json:"message_id,omitempty"`
	// What to do if the run waits for a decision: "refuse" the message (default), "abandon" the
	// suspended calls, or "queue" the message until the run ends.
	OnPending string `json:"on_pending,omitempty"`
	// For the run that the message starts. One that is open keeps what its own start supplied.
	Supplied
}

// Run is a run at the time of the request.
type Run struct {
	// Opaque, with the prefix "run_".
	ID string `json:"id"`
	// The conversation of the run.
	ThreadID string `json:"thread_id"`
	// The agent's name.
	Agent string `json:"agent"`
	// A digest of the agent's definition. It stays the same for the life of the run.
	AgentVersion string `json:"agent_version"`
	// The current status, such as [StatusWaiting].
	Status string `json:"status"`
	// Why the run ended, such as [ReasonNaturalEnd]. Nil until it is done.
	Reason *string `json:"reason"`
	// For a run that ended "stopped" or "blocked": the rule that ended it. With WaitingOn: the
	// reason for the wait, such as "model_unavailable".
	Code string `json:"code,omitempty"`
	// An explanation of Code.
	Detail string `json:"detail,omitempty"`
	ModelWait
	Work
	// The final text as a JSON string, or the value the model passed to "finish"; see
	// [Run.OutputText]. JSON null if there is none.
	Output json.RawMessage `json:"output"`
	// How the agent describes its end: "done", "no_op" or "awaiting_input". Nil until then.
	ResponseState *string `json:"response_state"`
	// Set if Reason is "error".
	Error *RunError `json:"error"`
	Family
	// The metadata of the start request.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// The suspended calls that wait for an answer. Where the run itself is read, as by
	// [Client.Run], those of the runs below it follow, each with its Path. Decisions on all of
	// them may be sent to this run.
	Pending []Pending `json:"pending"`
	// How many messages wait for the end of this run.
	Queued int `json:"queued,omitempty"`
	// Who started the run, or retried the earlier one.
	StartedBy *Actor `json:"started_by,omitempty"`
	// The first non-blank line of the run's input, at most 200 characters. Empty for a retry
	// (it continues from the input of RetryOf), for an input without text, and until a run with
	// a long input starts.
	FirstLine string `json:"first_line,omitempty"`
	// The names of the tools that the request supplied and the agent accepts, once it starts.
	ClientToolNames []string `json:"client_tool_names,omitempty"`
	// Who cancelled the run.
	CancelledBy *Actor `json:"cancelled_by,omitempty"`
	// The position in the run's events after everything that was committed at the time of the
	// request.
	Cursor string `json:"cursor"`
	// When the run was started.
	CreatedAt Time `json:"created_at"`
	// When the run last changed.
	UpdatedAt Time `json:"updated_at"`
}

// ModelWait says that a run waits for its model.
type ModelWait struct {
	// What a "running" run waits for: "model", while its model doesn't answer. The run
	// continues on its own when it does. Empty if it waits for nothing.
	WaitingOn string `json:"waiting_on,omitempty"`
	// With WaitingOn: when the first of the consecutive failures occurred.
	WaitingSince *Time `json:"waiting_since,omitempty"`
	// With WaitingOn: when the model is called next. Nil while a call is in progress.
	NextAttemptAt *Time `json:"next_attempt_at,omitempty"`
}

// Work is what a run has done so far.
type Work struct {
	// The number of committed model turns.
	Steps int `json:"steps"`
	// How many times a worker has claimed the run.
	Activations int `json:"activations"`
	// How many decisions have resumed the run.
	Resumes int `json:"resumes"`
	// The tokens used.
	Usage Usage `json:"usage"`
	// What the run's model calls have cost so far. Nil if that isn't known: no price is set for
	// the model, or a provider didn't report the tokens of a call.
	Cost *Cost `json:"cost,omitempty"`
}

// Actor is the principal behind an action, and its entry point.
type Actor struct {
	// The principal, such as "token:anna" or "link:anna@example.com". Empty if callers have no
	// names.
	By string `json:"by,omitempty"`
	// The entry point: "api", "link" or "queue".
	Via string `json:"via,omitempty"`
}

// OutputText returns the output as text: the content of a JSON string, any other value as JSON. ok
// is false if there is no output.
func (r Run) OutputText() (text string, ok bool) {
	if len(r.Output) == 0 || string(r.Output) == "null" {
		return "", false
	}
	if json.Unmarshal(r.Output, &text) != nil {
		text = string(r.Output)
	}
	return text, true
}

// Usage counts the tokens of all model calls of a run.
type Usage struct {
	// Tokens sent to the model.
	InputTokens int64 `json:"input_tokens"`
	// Tokens the model generated.
	OutputTokens int64 `json:"output_tokens"`
	// Of a run that has started others: what it and they have used. Runs below that are still
	// open count only where the run itself is read, as by [Client.Run].
	Total *TreeUsage `json:"total,omitempty"`
}

// Cost is an amount of money.
type Cost struct {
	// Dollars, as an exact decimal such as "0.0123".
	USD string `json:"usd"`
}

// RunError is why a run ended in error, or can't be read.
type RunError struct {
	// The error, for programs.
	Code string `json:"code"`
	// The error, for people.
	Detail string `json:"detail,omitempty"`
}

// StartRun stores the input of a new run and returns at once. Requests with the same key and the
// same content start one run. With an empty key, the client makes one for this call, so that its
// own retries start one run; see [WithRetries].
func (c *Client) StartRun(ctx context.Context, req StartRequest, key string) (Run, error) {
	if req.MessageID == "" {
		return c.withKey(ctx, "/v1/runs", req, key)
	}
	return c.post(ctx, "/v1/runs", req, map[string]string{keyHeader: key})
}

// withKey posts a request with the caller's key, or one made for it.
func (c *Client) withKey(ctx context.Context, path string, body any, key string) (Run, error) {
	header, err := c.keyed(key)
	if err != nil {
		return Run{}, err
	}
	return c.post(ctx, path, body, header)
}

// post sends a request that is answered with a run.
func (c *Client) post(ctx context.Context, path string, body any, header map[string]string) (Run, error) {
	var run Run
	err := c.do(ctx, request{method: http.MethodPost, path: path, body: body, header: header}, &run)
	return run, err
}

// Run reads a run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return get[Run](ctx, c, runPath(id, ""), nil)
}

// PollRun reads a run. The server holds the answer until the run is suspended or done, for as long
// as wait but at most 20 seconds. Use [Client.WaitRun] to wait longer. A run that only waits for
// runs below it is not held back by a person as long as none of them waits for an answer.
func (c *Client) PollRun(ctx context.Context, id string, wait time.Duration) (Run, error) {
	var run Run
	header := map[string]string{}
	if n := wholeSeconds(wait); n > 0 {
		header["Prefer"] = "wait=" + strconv.Itoa(n)
	}
	err := c.do(ctx, request{method: http.MethodGet, path: runPath(id, ""), header: header}, &run)
	return run, err
}

// longPoll is the longest time for which the server holds an answer.
const longPoll = 20 * time.Second

// waitsForRuns says whether nothing holds the run back but runs that go on.
func (r Run) waitsForRuns() bool { return len(r.Pending) == 0 && len(r.Children) > 0 }

// WaitRun returns the run once it is done or suspended: its Status is [StatusDone], or
// [StatusWaiting] with the Pending calls. It waits until ctx ends.
func (c *Client) WaitRun(ctx context.Context, id string) (Run, error) {
	for pause := backoff.First; ; pause = min(2*pause, time.Second) {
		run, err := c.PollRun(ctx, id, longPoll)
		if err != nil || run.Status == StatusDone || run.Status == StatusWaiting && !run.waitsForRuns() {
			return run, err
		}
		// a server that holds too many reads answers early, without anything new
		if err := c.sleep(ctx, pause); err != nil {
			return run, err
		}
	}
}

// RunFilter selects runs. Empty fields select all.
type RunFilter struct {
	Status        string // such as [StatusWaiting]
	Agent         string
	Reason        string // such as [ReasonError]
	ResponseState string // "done", "no_op" or "awaiting_input"
	// Members of the run's metadata and their values: strings as they are, numbers, true, false
	// and null as JSON writes them. At most 16.
	Metadata      map[string]string
	CreatedAfter  time.Time // at this time or later
	CreatedBefore time.Time // before this time

	Limit  int    // runs on a page: by default 20, at most 100
	Cursor string // the Next of an earlier page
}

func (f RunFilter) query() url.Values {
	q := pageQuery(f.Limit, f.Cursor)
	add(q, "status", f.Status)
	add(q, "agent", f.Agent)
	add(q, "reason", f.Reason)
	add(q, "response_state", f.ResponseState)
	for key, value := range f.Metadata {
		q.Set("metadata."+key, value)
	}
	addTime(q, "created_after", f.CreatedAfter)
	addTime(q, "created_before", f.CreatedBefore)
	return q
}

// Runs returns runs, newest first. It reads page after page. An error is the last value.
func (c *Client) Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error] {
	return c.runs(ctx, "/v1/runs", f)
}

// RunPage reads one page of runs, newest first.
func (c *Client) RunPage(ctx context.Context, f RunFilter) (Page[Run], error) {
	return get[Page[Run]](ctx, c, "/v1/runs", f.query())
}

func (c *Client) runs(ctx context.Context, path string, f RunFilter) iter.Seq2[Run, error] {
	return paging.All(f.Cursor, func(cursor string) ([]Run, string, error) {
		f.Cursor = cursor
		page, err := get[Page[Run]](ctx, c, path, f.query())
		return page.Items, page.Next, err
	})
}

// Cancel ends a run: at its next commit, or at once if it is suspended. Suspended calls don't run.
// Cancelling it again has no further effect. A run that ended otherwise is an [*Error] with the
// code "run_done".
func (c *Client) Cancel(ctx context.Context, run string) (Run, error) {
	return c.post(ctx, runPath(run, "/cancel"), nil, nil)
}

// Interrupt pauses a run after its next commit; [Client.Resume] resumes it. Requests with the same
// key interrupt it once, even after it was resumed. With an empty key, the client makes one for
// this call.
func (c *Client) Interrupt(ctx context.Context, run, key string) (Run, error) {
	return c.withKey(ctx, runPath(run, "/interrupt"), nil, key)
}

// Resume resumes an interrupted run. If the run isn't interrupted, the error is an [*Error] with
// the code "not_waiting".
func (c *Client) Resume(ctx context.Context, run string, req ResumeRequest) (DecisionAnswer, error) {
	var answer DecisionAnswer
	id, err := c.orMade(req.DecisionID)
	if err != nil {
		return answer, err
	}
	req.DecisionID = id
	err = c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/resume"), body: req}, &answer)
	return answer, err
}

// Retry starts a run that continues from the last commit of a run that ended in error. Requests
// with the same key, or all without one, start one run.
func (c *Client) Retry(ctx context.Context, run, key string) (Run, error) {
	return c.post(ctx, runPath(run, "/retry"), nil, map[string]string{keyHeader: key})
}

// Calls returns the tool calls of a run, in the order in which the model requested them. It reads
// page after page. An error is the last value.
func (c *Client) Calls(ctx context.Context, run string) iter.Seq2[Call, error] {
	return paging.All("", func(cursor string) ([]Call, string, error) {
		page, err := get[Page[Call]](ctx, c, runPath(run, "/calls"), pageQuery(0, cursor))
		return page.Items, page.Next, err
	})
}

// Call reads one tool call of a run.
func (c *Client) Call(ctx context.Context, run, call string) (Call, error) {
	return get[Call](ctx, c, runPath(run, "/calls/"+url.PathEscape(call)), nil)
}
