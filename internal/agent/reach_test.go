package agent_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

func TestReachNamesTargetsWithoutSecrets(t *testing.T) {
	d := agent.Definition{Name: "desk", Tools: []agent.Tool{
		{Name: "pay", HTTP: &agent.HTTP{Method: "POST", URL: "https://api.example.com/hooks/T0P-S3CRET/{order}?key=s3cret", Headers: map[string]string{"X-Key": "s3cret"}}},
		{Name: "look", HTTP: &agent.HTTP{URL: "http://api.example.com:8080/v1"}},
		{Name: "usual", HTTP: &agent.HTTP{Method: "DELETE", URL: "https://api.example.com:443/v1"}},
		{Name: "odd", HTTP: &agent.HTTP{Method: "PUT", URL: "https://anna:s3cret@api.example.com/"}},
		{Name: "move", Lambda: &agent.Lambda{Function: "arn:aws:lambda:eu-central-1:123456789012:function:move-money", Qualifier: "live"}},
		{Name: "find", MCP: &agent.MCP{Server: "crm"}},
		{Name: "search", MCP: &agent.MCP{Server: "crm", Tool: "find_all"}},
		{Name: "sum", Go: "add"},
		{Name: "review", Agent: &agent.Callee{Input: "s3cret {q}", A2A: &agent.A2A{URL: "https://reviews.example.com:443/s3cret?k=s3cret", Headers: map[string]string{"X": "s3cret"}}}},
		{Name: "check", Agent: &agent.Callee{A2A: &agent.A2A{URL: "http://checks.internal:9000/"}}},
		{Name: "ask", Agent: &agent.Callee{Name: "helper", Input: "s3cret {q}"}},
		{Name: "sign", Client: true},
		{Name: "told", Recorded: []agent.Answer{{}}},
	}}
	for tool, want := range map[string][2]string{
		"pay": {"http", "POST api.example.com"}, "look": {"http", "GET api.example.com:8080"}, "usual": {"http", "DELETE api.example.com"},
		"odd": {"http", "PUT"}, "move": {"lambda", "move-money"}, "find": {"mcp", "crm/find"}, "search": {"mcp", "crm/find_all"},
		"sum": {"go", "add"}, "ask": {"agent", "helper"},
		"review": {"a2a", "reviews.example.com"}, "check": {"a2a", "checks.internal:9000"}, "sign": {"client", ""}, "told": {"recorded", ""},
	} {
		kind, target, ok := d.Reach(tool)
		if got := [2]string{kind, target}; got != want || !ok {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
	if _, _, ok := d.Reach("nothing"); ok {
		t.Error("a tool that is not there has a target")
	}
}
