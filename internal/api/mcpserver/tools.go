package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// fixed is a tool that every server has: an operation of the HTTP API.
type fixed struct {
	name, title, about string
	roles              []access.Role // the caller needs one of them to see it
	hints              mcp.ToolAnnotations
	schema             string
	serve              func(x *exchange, ctx context.Context, arguments json.RawMessage) (any, error)
}

var (
	yes, no = true, false

	readOnly = mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	changes  = mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &yes}
)

var fixedTools = []fixed{
	{"list_approvals", "List what waits for an answer", "Lists the suspended calls of all runs, the oldest first: approvals, questions, calls for the client, unknown outcomes. If next is set, call again with it as cursor.",
		[]access.Role{access.Read, access.Decide, access.Links}, readOnly,
		`{"type":"object","properties":{
			"agent":{"type":"string","description":"Only calls of this agent."},
			"kind":{"type":"string","enum":["approval","client","input","unknown_outcome","interrupt"]},
			"thread_id":{"type":"string","description":"Only calls of this conversation."},
			"limit":{"type":"integer","minimum":1,"maximum":200},
			"cursor":{"type":"string"}},"additionalProperties":false}`, (*exchange).listApprovals},
	{"decide", "Answer a suspended call", "Approves, denies or answers one suspended call. Decide only what the user has decided; a client that can ask has the user confirm it. A repeat of the same decision has no further effect; if another one came first, winner shows it.",
		[]access.Role{access.Decide}, changes,
		`{"type":"object","properties":{
			"run_id":{"type":"string","description":"The run, as list_approvals or get_run name it. If omitted, the one of the suspension."},
			"target":{"type":"string","description":"The id of the suspension."},
			"action":{"type":"string","enum":["resume","cancel"],"description":"resume approves, cancel denies. Omit it to answer with result."},
			"result":{"description":"The answer to a question, or the result of a call that the client runs. Any JSON."},
			"error":{"type":"string","description":"Instead of a result: the call failed."},
			"arguments":{"type":"object","description":"With an approval: arguments that replace the model's."},
			"grant":{"type":"string","enum":["run"],"description":"With an approval: also allow later calls of the run that the same rule would ask about."},
			"reason":{"type":"string"},
			"shown":{"type":"string","description":"The fingerprint of the question that the user saw. If the question has changed, nothing is stored."},
			"decision_id":{"type":"string","description":"Your key for the decision."}},"required":["target"],"additionalProperties":false}`, (*exchange).decide},
	{"get_run", "Read a run", "Returns a run: its status, its output once it is done, and the calls that wait for an answer.",
		[]access.Role{access.Read}, readOnly,
		`{"type":"object","properties":{
			"run_id":{"type":"string"},
			"wait":{"type":"integer","minimum":0,"maximum":20,"description":"Seconds to wait until the run is done or needs an answer."}},"required":["run_id"],"additionalProperties":false}`, (*exchange).getRun},
	{"cancel_run", "Cancel a run", "Ends a run. Suspended calls don't run. A run that is done stays as it is.",
		[]access.Role{access.Start, access.Decide}, changes,
		`{"type":"object","properties":{"run_id":{"type":"string"}},"required":["run_id"],"additionalProperties":false}`, (*exchange).cancelRun},
}

// agentSchema is what every agent takes.
const agentSchema = `{"type":"object","properties":{
	"input":{"type":"string","minLength":1,"description":"What the agent is asked, in words."},
	"thread":{"type":"string","description":"Continues a conversation: the thread_id of an earlier result, or a name of your choice. If omitted, the agent knows nothing of earlier calls."}},
	"required":["input"],"additionalProperties":false}`

// tools adds what a request needs: all tools to list them, or the one that is called. One of an
// unknown agent is refused when it starts.
func (x *exchange) tools(srv *mcp.Server) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch p := req.GetParams().(type) {
			case *mcp.ListToolsParams:
				if err := x.addAll(ctx, srv); err != nil {
					return nil, x.rpcError(err)
				}
			case *mcp.CallToolParamsRaw:
				x.addCalled(srv, p.Name)
			}
			result, err := next(ctx, method, req)
			if err == nil && x.task != nil {
				return x.task, nil
			}
			return result, err
		}
	}
}

func (x *exchange) addAll(ctx context.Context, srv *mcp.Server) error {
	for _, f := range fixedTools {
		if x.may(f.roles...) {
			x.addFixed(srv, f)
		}
	}
	if !x.may(access.Start) {
		return nil
	}
	agents, err := x.Desk.Agents(ctx)
	for _, a := range agents {
		x.addAgent(srv, a.Name, a.Description)
	}
	return err
}

func (x *exchange) addCalled(srv *mcp.Server, tool string) {
	i := slices.IndexFunc(fixedTools, func(f fixed) bool { return f.name == tool })
	switch agent, ok := agentOf(tool); {
	case i >= 0:
		x.addFixed(srv, fixedTools[i])
	case ok:
		x.addAgent(srv, agent, "")
	}
}

func (x *exchange) addFixed(srv *mcp.Server, f fixed) {
	hints := f.hints
	srv.AddTool(&mcp.Tool{Name: f.name, Title: f.title, Description: f.about, InputSchema: json.RawMessage(f.schema), Annotations: &hints},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			found, err := f.serve(x, ctx, orEmpty(req.Params.Arguments))
			if wrong, is := errors.AsType[*jsonrpc.Error](err); is {
				return nil, wrong
			}
			if err != nil {
				return x.refused(err)
			}
			if result, is := found.(*mcp.CallToolResult); is {
				return result, nil
			}
			return structured(found)
		})
}

func (x *exchange) addAgent(srv *mcp.Server, agent, about string) {
	srv.AddTool(&mcp.Tool{Name: toolOf(agent), Description: cmp.Or(about, "Runs the agent "+agent+"."), InputSchema: json.RawMessage(agentSchema),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return x.callAgent(ctx, agent, req.Params)
		})
}

// agentPrefix tells an agent from the tool of the same name. No agent has a dot in its name.
const agentPrefix = "agent."

func toolOf(agent string) string {
	if slices.ContainsFunc(fixedTools, func(f fixed) bool { return f.name == agent }) {
		return agentPrefix + agent
	}
	return agent
}

// agentOf is the agent that a tool may be named after; ok is false if no agent has such a name.
func agentOf(tool string) (agent string, ok bool) {
	agent = strings.TrimPrefix(tool, agentPrefix)
	return agent, agent != "" && toolOf(agent) == tool
}

func orEmpty(arguments json.RawMessage) json.RawMessage {
	if core.IsNull(arguments) {
		return json.RawMessage("{}")
	}
	return arguments
}

func (x *exchange) listApprovals(ctx context.Context, arguments json.RawMessage) (any, error) {
	var f Filter
	if err := bodies.Decode(arguments, &f); err != nil {
		return nil, err
	}
	return x.Desk.Approvals(ctx, f)
}

func (x *exchange) getRun(ctx context.Context, arguments json.RawMessage) (any, error) {
	var in struct {
		RunID string `json:"run_id"`
		Wait  int    `json:"wait"`
	}
	if err := bodies.Decode(arguments, &in); err != nil {
		return nil, err
	}
	if in.Wait < 0 {
		return nil, invalid("wait must be a number of seconds, from 0")
	}
	return x.Desk.Await(ctx, in.RunID, min(time.Duration(min(in.Wait, 60))*time.Second, longest))
}

func (x *exchange) cancelRun(ctx context.Context, arguments json.RawMessage) (any, error) {
	var in struct {
		RunID string `json:"run_id"`
	}
	if err := bodies.Decode(arguments, &in); err != nil {
		return nil, err
	}
	return x.Desk.Cancel(ctx, in.RunID)
}

// structured is a result for programs, with the same as text for models.
func structured(v any) (*mcp.CallToolResult, error) {
	raw, err := core.EncodeAny(v)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return &mcp.CallToolResult{Content: text(string(raw)), StructuredContent: raw}, nil
}

func text(words string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: words}} }
