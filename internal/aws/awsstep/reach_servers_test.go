package awsstep

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// chat is an endpoint that wants a key and asks for one call, and a server of MCP beside it that
// wants the same and says it back.
func chat(t *testing.T) (models, tools string) {
	answers := modeldouble.OpenAIQuirks{Key: planted}.Handler(func(a modeldouble.Asked) modeldouble.Said {
		if len(a.Messages) < 3 {
			return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "c1", Name: "search", Arguments: json.RawMessage(`{}`)}}}}
		}
		return modeldouble.Said{Turn: core.Turn{Text: "Found: " + a.Messages[len(a.Messages)-1].Text()}}
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "wiki", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "page 7 of " + r.Extra.Header.Get("Authorization")}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	one, other := httptest.NewServer(answers), httptest.NewServer(handler)
	t.Cleanup(one.Close)
	t.Cleanup(other.Close)
	return one.URL, other.URL
}

const reader = `
model: {provider: openai, model: llama, base_url: "%s/v1", api_key: SHOP}
servers: {wiki: {url: "%s", allow_private: true, headers: {Authorization: "Bearer {secret:SHOP}"}}}
tools: [{name: search, read_only: true, mcp: {server: wiki}, parameters: {type: object}}]
permissions: {allow: [search]}
`

func TestARunReachesEndpointsAndServersThatTheOperatorNames(t *testing.T) {
	b := newBeyond(t)
	models, tools := chat(t)
	for _, tt := range []struct {
		name, hosts, status string
	}{
		{"both are named", models + "," + tools, "done"},
		{"the server is not named", models, "done"},
		// in error: asking again would not help
		{"the endpoint is not named", tools, "done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			environment := b.environment()
			environment["DORMOUSE_PRIVATE_HOSTS"] = strings.ReplaceAll(tt.hosts, "http://", "")
			d := newDeployedWith(t, environment)
			d.deployText("reader", fmt.Sprintf(reader, models, tools))
			_, err := d.starter.Start(t.Context(), d.caller, "k", wire.StartRequest{Agent: "reader", Input: core.Encode("Look it up")})
			d.must(err)
			d.pump()
			runs := d.runs()
			if len(runs) != 1 || runs[0].Status != tt.status {
				t.Fatalf("runs %+v\nthe log:\n%s", runs, d.out.String())
			}
			kept := d.kept(runs[0].ThreadID)
			if found := strings.Contains(kept, "Found: page 7 of Bearer [secret SHOP]"); found != (tt.name == "both are named") {
				t.Errorf("found: %t, in %s\nthe log:\n%s", found, kept, d.out.String())
			}
			if ended := runs[0].Error != nil; ended != (tt.name == "the endpoint is not named") {
				t.Errorf("ended with %+v", runs[0].Error)
			}
			if strings.Contains(kept+d.out.String(), planted) {
				t.Errorf("the secret is in what is kept: %s\nthe log:\n%s", kept, d.out.String())
			}
		})
	}
}

// What the program does not have, no run goes on without.
func TestARunWhoseProviderTheProgramLacksEnds(t *testing.T) {
	d := newDeployed(t)
	d.deployText("clerk", fmt.Sprintf(clerk, "http://127.0.0.1:1"))
	d.parts.Agents.Models = nil
	_, err := d.starter.Start(t.Context(), d.caller, "k", wire.StartRequest{Agent: "clerk", Input: core.Encode("Pay A-2")})
	d.must(err)
	d.pump()
	if run := d.one("done"); run.Error == nil || run.Error.Code != "agent_version_missing" {
		t.Errorf("got %+v\nthe log:\n%s", run, d.out.String())
	}
}
