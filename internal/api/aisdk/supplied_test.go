package aisdk_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// TestSupply reads what a page adds to its requests. What the agent doesn't accept isn't read, and
// so isn't wrong.
func TestSupply(t *testing.T) {
	const paint = `{"client_tools":[{"name":"paint","description":"Paints.","parameters":{"type":"object"}}]}`
	for name, tt := range map[string]struct {
		body    string
		accepts []string
		want    string // empty: an error
	}{
		"tools by name":           {`"tools":{"paint":{"description":"Paints.","inputSchema":{"type":"object"}}}`, supplied.Acceptable, paint},
		"as jsonSchema writes it": {`"tools":{"paint":{"description":"Paints.","inputSchema":{"jsonSchema":{"type":"object"}}}}`, supplied.Acceptable, paint},
		"with parameters":         {`"tools":{"paint":{"description":"Paints.","parameters":{"type":"object"}}}`, supplied.Acceptable, paint},
		"a list":                  {`"tools":[{"type":"function","name":"paint","description":"Paints.","inputSchema":{"type":"object"}}]`, supplied.Acceptable, paint},
		"in their order":          {`"tools":{"b":{},"a":{}}`, supplied.Acceptable, `{"client_tools":[{"name":"a"},{"name":"b"}]}`},
		"a provider's":            {`"tools":[{"type":"provider","id":"openai.web_search","name":"web_search"}]`, supplied.Acceptable, `{}`},
		"context and state":       {`"context":[{"value":{"page":"orders"}}],"state":{"zoom":3}`, supplied.Acceptable, `{"context":[{"value":{"page":"orders"}}],"state":{"zoom":3}}`},
		"not accepted":            {`"tools":"x","context":"x","state":"x"`, nil, `{}`},
		"some accepted":           {`"tools":"x","context":"x","state":"x"`, []string{supplied.AcceptState}, `{"state":"x"}`},
		"no tools":                {`"tools":"x"`, supplied.Acceptable, ``},
		"tools with no object":    {`"tools":{"paint":1}`, supplied.Acceptable, ``},
		"no context":              {`"context":"x"`, supplied.Acceptable, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var req aisdk.Request
			if err := json.Unmarshal([]byte("{"+tt.body+"}"), &req); err != nil {
				t.Fatal(err)
			}
			read, err := req.Read(tt.accepts)
			if got := string(core.Encode(read)); err == nil && got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
