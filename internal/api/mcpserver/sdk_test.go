package mcpserver_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withToken adds a token to requests.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// connect is the SDK's client, as programs use it.
func (s *shop) connect(name string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	s.t.Helper()
	opts := &mcp.ClientOptions{}
	if answer != nil {
		opts.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer(r.Params), nil }
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
		Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withToken(name)}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func TestTheSDKsClient(t *testing.T) {
	s := newShop(t)
	tests := []struct {
		name, input string
		answer      func(*mcp.ElicitParams) *mcp.ElicitResult
		want        string
		paid        int
	}{
		{"at once", "hello", nil, "Hello.", 0},
		{"approves", "pay 50", func(*mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}
		}, "Paid.", 1},
		{"denies", "pay 50", func(*mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": false}}
		}, "I did not pay.", 0},
		{"declines", "pay 50", func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }, "I did not pay.", 0},
		{"approves twice", "pay 50 twice", func(*mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}
		}, "Paid.", 2},
		{"answers", "which address", func(*mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"street": "Main", "number": 7}}
		}, `You said {"number":7,"street":"Main"}.`, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := len(s.payments())
			got, err := s.connect("anna", test.answer).CallTool(t.Context(), &mcp.CallToolParams{Name: "desk", Arguments: map[string]any{"input": test.input}})
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Content[0].(*mcp.TextContent).Text; text != test.want || got.IsError {
				t.Errorf("got %q, want %q", text, test.want)
			}
			if paid := len(s.payments()) - before; paid != test.paid {
				t.Errorf("%d payments, want %d", paid, test.paid)
			}
		})
	}
}
