package mcptool

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// instant is a clock on which nobody waits: whoever sleeps moves it.
type instant struct{ *enginetest.Clock }

func (c instant) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	return ctx.Err()
}

const token = "token-that-nobody-may-see"

// request is one as the server got it.
type request struct {
	header http.Header
	body   string
	method string // of JSON-RPC
}

// world is one MCP server of the SDK on the loopback, and the tools that call it.
type world struct {
	t      *testing.T
	clock  instant
	server *mcp.Server
	http   *httptest.Server
	// before the server; true: it answered
	between func(http.ResponseWriter, *http.Request, request) bool
	def     agent.Definition
	log     strings.Builder

	mu  sync.Mutex
	got []request
}

// newWorld serves one tool called do. Old servers keep sessions and speak the version before.
func newWorld(t *testing.T, old bool, do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) *world {
	w := &world{t: t, clock: instant{enginetest.NewClock(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))}}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "double", Version: "1"}, nil)
	w.server.AddTool(&mcp.Tool{Name: "do", InputSchema: json.RawMessage(`{"type":"object"}`)}, do)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: !old})
	w.http = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		var message struct{ Method string }
		_ = json.Unmarshal(body, &message)
		at := request{r.Header.Clone(), string(body), message.Method}
		w.mu.Lock()
		w.got = append(w.got, at)
		w.mu.Unlock()
		if w.between == nil || !w.between(rw, r, at) {
			handler.ServeHTTP(rw, r)
		}
	}))
	w.http.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that a test breaks
	w.http.Start()
	t.Cleanup(w.http.Close)
	w.def = agent.Definition{Name: "desk", Servers: map[string]agent.Server{"double": {URL: w.http.URL, Headers: map[string]string{"Authorization": "Bearer {secret:TOKEN}"}}}}
	return w
}

// says is a tool that always answers the same.
func says(content ...mcp.Content) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

// requests are those of one method of JSON-RPC.
func (w *world) requests(method string) (found []request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.got {
		if r.method == method {
			found = append(found, r)
		}
	}
	return found
}

// tools are those of a process that has just begun.
func (w *world) tools() *Tools {
	tools := New(Options{HTTP: func(agent.Server) *http.Client { return w.http.Client() }, Clock: w.clock, Random: enginetest.NewRandom(w.t, 7), Version: "test",
		Secrets: secret.Environment(func(name string) string { return map[string]string{"DORMOUSE_SECRET_TOKEN": token}[name] }),
		Logger:  slog.New(slog.NewTextHandler(&w.log, nil))})
	w.t.Cleanup(tools.Close)
	return tools
}

// call is what a test says of a call.
type call struct {
	tool       agent.Tool
	args       string
	state      *pad.Pad
	resume     *core.Resume
	atMostOnce bool
	again      bool
}

func (w *world) tool(tools *Tools, t agent.Tool) engine.Tool {
	w.t.Helper()
	if t.Name == "" {
		t.Name = "do"
	}
	if t.MCP == nil {
		t.MCP = &agent.MCP{}
	}
	t.MCP.Server = "double"
	body, err := tools.Body(w.def, t)
	if err != nil {
		w.t.Fatal(err)
	}
	return body
}

func (w *world) call(tools *Tools, c call) core.Outcome {
	w.t.Helper()
	out, err := w.tool(tools, c.tool).Run(w.t.Context(), c.request())
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (c call) request() engine.ToolRequest {
	if c.args == "" {
		c.args = `{}`
	}
	return engine.ToolRequest{Tenant: "t", Thread: "thr", Run: "run_1", Key: "run_1/c1/1", State: c.state, Resume: c.resume, AtMostOnce: c.atMostOnce, Again: c.again,
		Call: core.ToolCall{ID: "c1", Name: "do", Arguments: json.RawMessage(c.args)}}
}
