package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const desk = `
name: desk
model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls: [{tool: ship, arguments: {order: 9007199254740993}}]
    - given: {result: '(?P<answer>(?s).+)'}
      say: "It said ${answer}"
tools:
  - name: ship
    mcp: {server: store, tool: orders.ship}
    parameters: {type: object, properties: {order: {type: integer}}, required: [order]}
servers:
  store:
    url: URL
    headers: {Authorization: "Bearer {secret:STORE_TOKEN}"}
    allow_private: true
permissions: {allow: [ship]}
`

// runtime is a data directory with what runs on it.
type runtime struct {
	t       *testing.T
	options local.Options
}

const storeToken = "a-token-for-the-store-alone"

// newRuntime has an agent whose server ships an order in two rounds: it wants a person to log in,
// and then an address.
func newRuntime(t *testing.T) *runtime {
	server := mcp.NewServer(&mcp.Implementation{Name: "store", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "orders.ship", InputSchema: json.RawMessage(`{"type":"object"}`)}, ship)
	service := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(service.Close)
	t.Setenv("DORMOUSE_SECRET_STORE_TOKEN", storeToken)
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "desk.yaml"), []byte(strings.ReplaceAll(desk, "URL", service.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	private, err := netguard.ReadPrivate([]string{strings.TrimPrefix(service.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	return &runtime{t: t, options: local.Options{Addr: "127.0.0.1:0", Data: filepath.Join(t.TempDir(), "data"), Agents: agents, Private: private, Version: "test", Tools: tool.NewRegistry(nil),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
}

func ship(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch r.Params.RequestState {
	case "":
		return &mcp.CallToolResult{RequestState: "one", InputRequests: mcp.InputRequestMap{
			"login": &mcp.ElicitParams{Mode: "url", Message: "Log in to the store.", URL: "https://store.example/login", ElicitationID: "e1"}}}, nil
	case "one":
		if answer := r.Params.InputResponses["login"].(*mcp.ElicitResult); answer.Action != "accept" {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "not logged in"}}, IsError: true}, nil
		}
		return &mcp.CallToolResult{RequestState: "two", InputRequests: mcp.InputRequestMap{"where": &mcp.ElicitParams{Mode: "form", Message: "Where to?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"street":{"type":"string"},"number":{"type":"integer"}},"required":["street","number"]}`)}}}, nil
	}
	where := r.Params.InputResponses["where"].(*mcp.ElicitResult).Content
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s goes to %v %v", r.Params.Arguments, where["street"], where["number"])}}}, nil
}

// within is one life of the runtime.
func (r *runtime) within(do func(c *client.Client)) {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	defer stop()
	s, err := local.Start(ctx, r.options)
	if err != nil {
		r.t.Fatal(err)
	}
	do(client.New("http://"+s.Addr(), client.WithRetries(0)))
	stop()
	if err := s.Wait(); err != nil {
		r.t.Fatal(err)
	}
}

func await(t *testing.T, c *client.Client, id, status string) wire.Run {
	t.Helper()
	for range 10 {
		run, err := c.PollRun(t.Context(), id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == status {
			return run
		}
	}
	t.Fatalf("run %s does not get %s", id, status)
	return wire.Run{}
}

// TestARunWaitsForWhatAServerAsksAndGoesOnAfterARestart: each answer is taken by another life of
// the runtime.
func TestARunWaitsForWhatAServerAsksAndGoesOnAfterARestart(t *testing.T) {
	r := newRuntime(t)
	var id, first string
	r.within(func(c *client.Client) {
		run, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"ship it"`)}, "")
		if err != nil {
			t.Fatal(err)
		}
		run = await(t, c, run.ID, "waiting")
		p := run.Pending[0]
		if p.Kind != "input" || !strings.Contains(p.Suspension.Message, "asks you to open https://store.example/login") {
			t.Fatalf("pending %+v", p)
		}
		id, first = run.ID, p.Suspension.ID
	})
	r.within(func(c *client.Client) {
		decide(t, c, id, first, `"accept"`)
		run := await(t, c, id, "waiting")
		for run.Pending[0].Suspension.ID == first {
			run = await(t, c, id, "waiting")
		}
		_, err := c.Decide(t.Context(), id, wire.Decision{Target: run.Pending[0].Suspension.ID, Result: json.RawMessage(`{"street":"Main"}`)})
		if err == nil || !strings.Contains(err.Error(), "match the response schema") {
			t.Errorf("half an answer: error %v", err)
		}
		decide(t, c, id, run.Pending[0].Suspension.ID, `{"street":"Main","number":7}`)
		run = await(t, c, id, "done")
		if text, _ := run.OutputText(); text != `It said {"order":9007199254740993} goes to Main 7` {
			t.Errorf("output %q", text)
		}
	})
	r.hides(storeToken)
}

func decide(t *testing.T, c *client.Client, run, target, result string) {
	t.Helper()
	if _, err := c.Decide(t.Context(), run, wire.Decision{Target: target, Result: json.RawMessage(result)}); err != nil {
		t.Fatal(err)
	}
}

// hides fails if a text is anywhere in the data.
func (r *runtime) hides(text string) {
	r.t.Helper()
	files, err := os.ReadDir(r.options.Data)
	if err != nil || len(files) == 0 {
		r.t.Fatalf("no data: %v", err)
	}
	for _, f := range files {
		if raw, err := os.ReadFile(filepath.Join(r.options.Data, f.Name())); err != nil || strings.Contains(string(raw), text) {
			r.t.Errorf("%s holds the secret, or cannot be read (%v)", f.Name(), err)
		}
	}
}
