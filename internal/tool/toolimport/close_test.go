package toolimport_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

func TestTheFileSaysThatNoOtherArgumentsAreTaken(t *testing.T) {
	for _, tt := range []struct{ name, listed, want string }{
		{"members", `{"type":"object","properties":{"a":{"type":"number","maximum":1.50}}}`,
			`{"additionalProperties":false,"properties":{"a":{"maximum":1.50,"type":"number"}},"type":"object"}`},
		{"none", `{"type":"object"}`, `{"additionalProperties":false,"type":"object"}`},
		{"others are said to be possible", `{"type":"object","additionalProperties":true}`, `{"additionalProperties":true,"type":"object"}`},
		{"nested", `{"type":"object","properties":{"a":{"type":"array","items":{"properties":{"b":{}}}},"free":{"type":"object"}}}`,
			`{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{"b":{}}},"type":"array"},"free":{"type":"object"}},"type":"object"}`},
		{"described by several schemas", `{"type":"object","properties":{"a":{}},"anyOf":[{"properties":{"b":{}}}]}`,
			`{"anyOf":[{"properties":{"b":{}}}],"properties":{"a":{}},"type":"object"}`},
		{"demanded and not described", `{"type":"object","required":["a"]}`, `{"required":["a"],"type":"object"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &toolimport.Fragment{Servers: map[string]agent.Server{"s": {URL: "https://a/mcp"}}}
			f.Add(toolimport.Tool{Name: "find", Parameters: json.RawMessage(tt.listed), MCP: &agent.MCP{Server: "s"}})
			if len(f.Tools) != 1 || string(f.Tools[0].Parameters) != tt.want {
				t.Errorf("%+v", f)
			}
		})
	}
}
