package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// tasksExtension lets a call be answered with a task, which is the run: its id is the run's, and
// tasks/get reads it. A task is as durable as its run.
const tasksExtension = "io.modelcontextprotocol/tasks"

// The types of results that have a task.
const (
	created  = "task"     // the answer to tools/call
	complete = "complete" // that to tasks/get
)

// task is a run as the extension shows it.
type task struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      string              `json:"createdAt"`
	LastUpdatedAt  string              `json:"lastUpdatedAt"`
	TTLMs          *int64              `json:"ttlMs"` // nil: unlimited
	PollIntervalMs int                 `json:"pollIntervalMs"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result         *mcp.CallToolResult `json:"result,omitempty"`
}

// How soon a client asks again: while the run works, and while it waits for people.
const (
	pollWorking = 1000
	pollWaiting = 5000
)

// taskOf shows a run. A run that waits for what this client can't be asked is at work: who can
// answer does so elsewhere.
func (x *exchange) taskOf(run wire.Run, resultType string) *task {
	t := &task{ResultType: resultType, TaskID: run.ID, Status: "working", PollIntervalMs: pollWorking,
		CreatedAt: run.CreatedAt.UTC().Format(wire.TimeFormat), LastUpdatedAt: run.UpdatedAt.UTC().Format(wire.TimeFormat)}
	none := &replies{}
	asked := x.questions(run, none)
	switch {
	case run.Reason != nil && *run.Reason == core.Cancelled.String():
		t.Status, t.StatusMessage = "cancelled", whyEnded(stateOf(run))
	case run.Status == core.RunDone.String():
		t.Status, t.Result = "completed", x.ended(run, none)
	case x.asks && len(asked) > 0 && resultType == complete:
		t.Status, t.InputRequests, t.PollIntervalMs = "input_required", asked, pollWaiting
	case len(run.Pending) > 0:
		t.StatusMessage, t.PollIntervalMs = x.progress(run)+"\n"+x.ways(run), pollWaiting
	}
	return t
}

// taskParams are those of all three methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string              `json:"taskId"`
	InputResponses map[string]response `json:"inputResponses"`
}

// acknowledged says that a request was stored; what comes of it shows later.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

func (x *exchange) addTasks(srv *mcp.Server) {
	addMethod(x, srv, "tasks/get", x.getTask)
	addMethod(x, srv, "tasks/update", x.updateTask)
	addMethod(x, srv, "tasks/cancel", x.cancelTask)
}

func addMethod[R mcp.Result](x *exchange, srv *mcp.Server, method string, serve func(context.Context, *taskParams) (R, error)) {
	err := mcp.AddReceivingCustomMethod(srv, method, func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (R, error) {
		var none R
		if !x.tasks {
			return none, lacksTasks()
		}
		if p.TaskID == "" {
			return none, x.rpcError(invalid("taskId is missing; send the one of the result of the call"))
		}
		result, err := serve(ctx, p)
		if err != nil {
			return none, x.rpcError(err)
		}
		return result, nil
	})
	if err != nil {
		panic(err) // the SDK has a method of this name
	}
}

// missingCapability is the protocol's code for a client that must declare more.
const missingCapability = -32021

func lacksTasks() error {
	required := map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}}}
	return &jsonrpc.Error{Code: missingCapability, Message: "missing required client capability", Data: core.Encode(required)}
}

func (x *exchange) getTask(ctx context.Context, p *taskParams) (*task, error) {
	run, err := x.Desk.Await(ctx, p.TaskID, 0)
	if err != nil {
		return nil, err
	}
	return x.taskOf(run, complete), nil
}

// updateTask takes answers. Those to questions that aren't open are ignored.
func (x *exchange) updateTask(ctx context.Context, p *taskParams) (*acknowledged, error) {
	run, err := x.Desk.Await(ctx, p.TaskID, 0)
	if err != nil {
		return nil, err
	}
	said, err := x.reply(ctx, run, p.InputResponses)
	if err != nil {
		return nil, err
	}
	return &acknowledged{ResultBase: mcp.ResultBase{Meta: metaOf(run, said)}, ResultType: complete}, nil
}

// cancelTask cancels the run. One that is done stays as it is.
func (x *exchange) cancelTask(ctx context.Context, p *taskParams) (*acknowledged, error) {
	if _, err := x.Desk.Cancel(ctx, p.TaskID); err != nil && !refusal.Is(err, refusal.CodeRunDone) {
		return nil, err
	}
	return &acknowledged{ResultType: complete}, nil
}
