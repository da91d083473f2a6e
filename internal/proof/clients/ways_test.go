package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// question is an approval that waits, as each protocol knows it.
type question struct {
	caller
	chat, run, thread, suspension, call string

	link, signed string // the paths of links, the second of which asks for an access token
	shown        string // what their pages say that they show
	state        string // what an MCP client sends back with an answer
	input        string
}

// way is a means to answer a question.
type way struct {
	answer func(q question, yes bool) (reply, error)
	late   string // in what the client gets if a yes came first: that, or what came of it
}

const (
	coded  = `"code":"already_decided"`
	paper  = "Your answer was not used." // on a page
	events = `paid\":`                   // the result of the call
	chunks = `"output":{"paid":`
)

// ways are all addresses of all protocols that take decisions, and the forms of the pages of links,
// sent as a browser does.
var ways = map[string]way{
	"api": {func(q question, yes bool) (reply, error) {
		return q.post("/v1/suspensions/"+q.suspension, map[string]any{"action": action(yes)})
	}, coded},
	"run": {func(q question, yes bool) (reply, error) {
		return q.post("/v1/runs/"+q.run+"/decisions", map[string]any{"decisions": []any{map[string]any{"target": q.suspension, "action": action(yes)}}})
	}, coded},
	"ai-sdk":          {func(q question, yes bool) (reply, error) { return q.post("/ai-sdk/desk", q.uiMessage(yes)) }, chunks},
	"ai-sdk-workflow": {func(q question, yes bool) (reply, error) { return q.post("/ai-sdk/desk/workflow", q.uiMessage(yes)) }, chunks},
	"ag-ui":           {func(q question, yes bool) (reply, error) { return q.post("/ag-ui/desk", q.runInput(yes)) }, events},
	"copilotkit": {func(q question, yes bool) (reply, error) {
		return q.post("/copilotkit/agent/desk/run", q.runInput(yes))
	}, events},
	"copilotkit-single": {func(q question, yes bool) (reply, error) {
		return q.post("/copilotkit", map[string]any{"method": "agent/run", "params": map[string]any{"agentId": "desk"}, "body": q.runInput(yes)})
	}, events},
	"a2a":        {func(q question, yes bool) (reply, error) { return q.sendMessage("SendMessage", yes) }, coded},
	"a2a-stream": {func(q question, yes bool) (reply, error) { return q.sendMessage("SendStreamingMessage", yes) }, coded},
	"mcp-decide": {func(q question, yes bool) (reply, error) {
		return q.silentMCP("tools/call", map[string]any{"name": "decide", "arguments": map[string]any{"target": q.suspension, "action": action(yes)}})
	}, coded},
	"mcp-confirmed": {question.confirm, coded},
	"mcp-elicitation": {func(q question, yes bool) (reply, error) {
		return q.mcp("tools/call", map[string]any{"name": "desk", "arguments": map[string]any{"input": q.input}, "requestState": q.state, "inputResponses": q.elicited(yes)})
	}, coded},
	"mcp-task": {func(q question, yes bool) (reply, error) {
		return q.mcp("tasks/update", map[string]any{"taskId": q.run, "inputResponses": q.elicited(yes)})
	}, coded},
	"link": {func(q question, yes bool) (reply, error) {
		return caller{url: q.url}.post(q.link, map[string]any{"action": action(yes)})
	}, coded},
	"page": {func(q question, yes bool) (reply, error) {
		return q.submit(q.link, url.Values{"shown": {q.shown}, "reason": {""}, "action": {action(yes)}})
	}, paper},
	"page-token": {func(q question, yes bool) (reply, error) {
		return q.submit(q.signed, url.Values{"shown": {q.shown}, "reason": {""}, "token": {q.token}, "action": {action(yes)}})
	}, paper},
}

func (q question) uiMessage(yes bool) any {
	part := map[string]any{"type": "tool-pay", "toolCallId": q.call, "state": "approval-responded", "input": map[string]any{"amount": 999, "to": "Eve"},
		"approval": map[string]any{"id": q.suspension, "approved": yes}}
	return map[string]any{"id": q.chat, "messages": []any{map[string]any{"id": "m", "role": "assistant", "parts": []any{part}}}}
}

func (q question) runInput(yes bool) any {
	return map[string]any{"threadId": q.chat, "runId": "r", "protocolVersion": "1.0", "state": map[string]any{}, "messages": []any{},
		"tools": []any{}, "context": []any{}, "resume": []any{map[string]any{"interruptId": q.suspension, "status": "resolved", "payload": map[string]any{"approved": yes}}}}
}

func (q question) sendMessage(method string, yes bool) (reply, error) {
	part := map[string]any{"data": map[string]any{"decisionId": q.suspension, "approved": yes}}
	return q.post("/a2a/desk", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{
		"message": map[string]any{"messageId": fmt.Sprint(rand.Uint64()), "taskId": q.run, "role": "ROLE_USER", "parts": []any{part}}}}, "A2A-Version", "1.0")
}

// confirm has the user confirm what the model proposes, if the server asks.
func (q question) confirm(yes bool) (reply, error) {
	params := map[string]any{"name": "decide", "arguments": map[string]any{"target": q.suspension, "action": action(yes)}}
	asked, err := q.mcp("tools/call", params)
	var proposal struct{ Result struct{ RequestState string } }
	if err := errors.Join(err, json.Unmarshal([]byte(asked.text), &proposal)); err != nil || proposal.Result.RequestState == "" {
		return asked, err
	}
	params["requestState"] = proposal.Result.RequestState
	params["inputResponses"] = map[string]any{q.suspension: map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}}}
	return q.mcp("tools/call", params)
}

func (q question) elicited(yes bool) any {
	return map[string]any{q.suspension: map[string]any{"action": "accept", "content": map[string]any{"approved": yes}}}
}

func action(yes bool) string {
	if yes {
		return client.ActionResume
	}
	return client.ActionCancel
}

// ask begins a chat whose payment waits for an approval, and makes links to it.
func (s desk) ask(t *testing.T, chat string, amount int) question {
	t.Helper()
	q := question{caller: caller{s.url, "anna"}, chat: chat, input: fmt.Sprintf("pay %d", amount)}
	got, err := q.post("/ai-sdk/desk", map[string]any{"id": chat, "messages": []any{map[string]any{"id": "m-" + chat, "role": "user",
		"parts": []any{map[string]any{"type": "text", "text": q.input}}}}})
	if err != nil || got.status != http.StatusOK {
		t.Fatal(got, err)
	}
	c := client.New(s.url, client.WithToken(q.token))
	thread, err := c.FindThread(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), thread.RunID)
	if err != nil || len(run.Pending) != 1 {
		t.Fatalf("%v: %+v", err, run.Pending)
	}
	p := run.Pending[0]
	q.run, q.thread, q.suspension, q.call, q.shown = run.ID, thread.ID, p.Suspension.ID, p.CallID, p.Fingerprint
	link := func(require string) string {
		l, err := c.MakeLink(t.Context(), q.run, client.LinkRequest{Target: q.suspension, For: "ben", Require: require})
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(l.Link)
		if err != nil {
			t.Fatal(err)
		}
		return at.Path
	}
	q.link, q.signed = link(""), link(client.RequireToken)
	got, err = q.mcp("tools/call", map[string]any{"name": "desk", "arguments": map[string]any{"input": q.input, "thread": chat}})
	var asked struct{ Result struct{ RequestState string } }
	if err := errors.Join(err, json.Unmarshal([]byte(got.text), &asked)); err != nil || asked.Result.RequestState == "" {
		t.Fatal(got, err)
	}
	q.state = asked.Result.RequestState
	return q
}
