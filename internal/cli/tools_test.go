package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// mcpServer serves tools on the loopback to those who know the token.
func mcpServer(t *testing.T, token string, tools ...*mcp.Tool) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "double", Version: "1"}, nil)
	for _, tool := range tools {
		s.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "you said "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	return service.URL
}

var listedTools = []*mcp.Tool{
	{Name: "orders.find", Description: "Finds orders.\nBy status.\u202e", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"status":{"type":"string","description":"One \u200bof them"},"most":{"type":"integer","maximum":9007199254740991}}}`)},
	{Name: "refund", Title: "Refund an order", InputSchema: json.RawMessage(`{"type":"object"}`)},
	{Name: "tag", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}, InputSchema: json.RawMessage(`{"type":"object"}`)},
	{Name: "loop", InputSchema: json.RawMessage(`{"type":"object","$ref":"#"}`)},
}

const restOfAgent = "model: {provider: scripted, turns: [{say: x}]}\n"

func TestToolsOfAnMCPServerBecomePartOfAnAgentFile(t *testing.T) {
	url := mcpServer(t, "the-token", listedTools...)
	out := dormouseWith(t, nil, "", map[string]string{"DORMOUSE_SECRET_CRM_TOKEN": "the-token"},
		"tools", "mcp", url, "--name", "crm", "--header", "Authorization: Bearer {secret:CRM_TOKEN}")
	out.wantExit(t, cmdline.ExitOK)
	if strings.Contains(out.stdout+out.stderr, "the-token") {
		t.Errorf("the secret is in\n%s%s", out.stdout, out.stderr)
	}
	want := `# From the MCP server ` + url + `. All texts, read_only and idempotent are the server's claims.
# Remove the tools that the agent must not call.
servers:
  crm:
    url: ` + url + `
    headers:
      Authorization: Bearer {secret:CRM_TOKEN}
    allow_private: true
tools:
  - name: orders_find
    description: |-
      Finds orders.
      By status.\u202e
    mcp:
      server: crm
      tool: orders.find
    parameters:
      additionalProperties: false
      properties:
        most:
          maximum: 9007199254740991
          type: integer
        status:
          description: One \u200bof them
          type: string
      type: object
    read_only: true
  # its schema lists no arguments, so the tool takes none; if it takes arguments, set additionalProperties: true
  - name: refund
    description: Refund an order
    mcp:
      server: crm
    parameters:
      additionalProperties: false
      type: object
  # its schema lists no arguments, so the tool takes none; if it takes arguments, set additionalProperties: true
  - name: tag
    mcp:
      server: crm
    parameters:
      additionalProperties: false
      type: object
    idempotent: true
# Left out: loop: parameters: $ref "#" leads back to itself
`
	if diff := cmp.Diff(want, out.stdout); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	contains(t, out.stderr, `skipped: loop: parameters: $ref "#" leads back to itself`, "3 tools printed, 1 skipped")
	d, err := agentfile.Parse("desk.yaml", []byte(restOfAgent+out.stdout), nil)
	if err != nil || len(d.Tools) != 3 || !d.Tools[0].ReadOnly || d.Tools[0].MCP.Tool != "orders.find" {
		t.Errorf("%+v, error %v", d.Tools, err)
	}
}

func TestSomeToolsOfAnMCPServerAsJSON(t *testing.T) {
	url := mcpServer(t, "", listedTools...)
	out := dormouseWith(t, nil, "", nil, "tools", "mcp", url, "--only", "refund", "--json")
	out.wantExit(t, cmdline.ExitOK)
	var got struct {
		Servers map[string]agent.Server
		Tools   []struct {
			Name string
			MCP  agent.MCP
		}
		LeftOut []any `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil || len(got.Tools) != 1 || got.Tools[0].MCP.Server != "server" || got.LeftOut == nil {
		t.Errorf("%s, error %v", out.stdout, err)
	}
}

func TestWhatAnMCPServerIsNotAskedFor(t *testing.T) {
	url := mcpServer(t, "the-token", listedTools...)
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		exit int
		says string
	}{
		"no address":          {[]string{"mcp.example.com"}, nil, cmdline.ExitUsage, "is not a server URL"},
		"no header":           {[]string{url, "--header", "Authorization"}, nil, cmdline.ExitUsage, "'Name: value'"},
		"a secret as it is":   {[]string{url, "--header", "Authorization: Bearer the-token"}, nil, cmdline.ExitUsage, "write {secret:TOKEN} instead"},
		"a secret not set":    {[]string{url, "--header", "Authorization: Bearer {secret:CRM}"}, nil, cmdline.ExitUsage, "set the environment variable DORMOUSE_SECRET_CRM"},
		"not let in":          {[]string{url, "--header", "Authorization: Bearer {secret:CRM}"}, map[string]string{"DORMOUSE_SECRET_CRM": "wrong-token"}, cmdline.ExitFailed, "denied access: it answered 401 Unauthorized"},
		"a tool it has not":   {[]string{url, "--header", "Authorization: Bearer {secret:CRM}", "--only", "refnd"}, map[string]string{"DORMOUSE_SECRET_CRM": "the-token"}, cmdline.ExitUsage, `has no tool "refnd"; it has`},
		"no name":             {[]string{url, "--name", "C R M"}, nil, cmdline.ExitUsage, "is not a valid server name"},
		"nobody answers":      {[]string{"http://127.0.0.1:1"}, nil, cmdline.ExitFailed, "it refused the connection"},
		"the verb is another": {[]string{}, nil, cmdline.ExitUsage, "wrong number of arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			out := dormouseWith(t, nil, "", tt.env, append([]string{"tools", "mcp"}, tt.args...)...)
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, tt.says)
			if strings.Contains(out.stdout+out.stderr, "the-token") || strings.Contains(out.stderr, "wrong-token") || out.stdout != "" {
				t.Errorf("said %s%s", out.stdout, out.stderr)
			}
		})
	}
}

func TestAnOpenAPIDocumentBecomesPartOfAnAgentFile(t *testing.T) {
	const document = "../tool/toolimport/testdata/orders.yaml"
	out := dormouseWith(t, nil, "", nil, "tools", "openapi", document)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stderr, "skipped: bulk (POST /bulk): its body must be an object", "6 tools printed, 5 skipped")
	d, err := agentfile.Parse("desk.yaml", []byte(restOfAgent+out.stdout), nil)
	if err != nil || len(d.Tools) != 6 {
		t.Errorf("%d tools, error %v", len(d.Tools), err)
	}
	out = dormouseWith(t, nil, "", nil, "tools", "openapi", document, "--only", "bulk,upload")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "no tool could be printed", "upload (POST /orders/{id}/files): its body must be JSON or a form")
	broken := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(broken, []byte("swagger: '2.0'"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{broken: "convert it to OpenAPI 3 first", "not-there.yaml": "no such file"} {
		out = dormouseWith(t, nil, "", nil, "tools", "openapi", file)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, says)
	}
}
