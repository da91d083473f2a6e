package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestACallReachesTheToolWithItsArgumentsHeadersAndKey(t *testing.T) {
	for name, old := range map[string]bool{"newest": false, "2025-11-25": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, old, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				key, _ := r.Params.Meta[IdempotencyKey].(string)
				return &mcp.CallToolResult{Content: []mcp.Content{text(string(r.Params.Arguments)), text(key)}}, nil
			})
			out := w.call(w.tools(), call{args: `{"n":9007199254740993,"x":1.10}`})
			if want := "{\"n\":9007199254740993,\"x\":1.10}\nrun_1/c1/1"; out.Text != want || out.Failed {
				t.Errorf("outcome %+v, want %q", out, want)
			}
			for _, r := range w.got {
				if r.header.Get("Authorization") != "Bearer "+token {
					t.Errorf("%s came without the header", r.method)
				}
			}
		})
	}
}

func TestAWarmProcessConnectsOnce(t *testing.T) {
	for name, old := range map[string]bool{"newest": false, "2025-11-25": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, old, says(text("ok")))
			tools := w.tools()
			for range 3 {
				w.call(tools, call{})
			}
			if n, calls := len(w.requests("server/discover")), len(w.requests("tools/call")); n != 1 || calls != 3 {
				t.Errorf("%d connections for %d calls", n, calls)
			}
		})
	}
}

func TestCallsSideBySideDoNotShareASession(t *testing.T) {
	together := make(chan struct{}, 4)
	all := make(chan struct{})
	w := newWorld(t, true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		together <- struct{}{}
		if len(together) == 4 {
			close(all)
		}
		<-all
		return &mcp.CallToolResult{Content: []mcp.Content{text("ok")}}, nil
	})
	tools := w.tools()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out := w.call(tools, call{}); out.Text != "ok" {
				t.Errorf("outcome %+v", out)
			}
		})
	}
	wg.Wait()
	sessions := map[string]bool{}
	for _, r := range w.requests("tools/call") {
		sessions[r.header.Get("Mcp-Session-Id")] = true
	}
	if len(sessions) != 4 {
		t.Errorf("%d sessions for four calls at a time", len(sessions))
	}
}

func TestASessionThatTheServerForgotIsBegunAnew(t *testing.T) {
	w := newWorld(t, true, says(text("ok")))
	tools := w.tools()
	w.call(tools, call{})
	for s := range w.server.Sessions() {
		_ = s.Close()
	}
	if out := w.call(tools, call{atMostOnce: true}); out.Text != "ok" {
		t.Errorf("outcome %+v; nothing was called in a session that is not there", out)
	}
}

func TestResults(t *testing.T) {
	png := &mcp.ImageContent{MIMEType: "image/png", Data: []byte("pixels")}
	for name, tt := range map[string]struct {
		result *mcp.CallToolResult
		err    error
		text   string // exactly, or its beginning if it ends with ...
		failed bool
		media  []string
	}{
		"texts are joined":        {result: &mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, text: "a\nb"},
		"nothing":                 {result: &mcp.CallToolResult{}, text: "The MCP server answered without text."},
		"structure without text":  {result: &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, text: `{"a":1}`},
		"structure beside text":   {result: &mcp.CallToolResult{Content: []mcp.Content{text("one")}, StructuredContent: map[string]any{"a": 1}}, text: "one"},
		"the tool failed":         {result: &mcp.CallToolResult{Content: []mcp.Content{text("no such order")}, IsError: true}, text: "no such order", failed: true},
		"an image":                {result: &mcp.CallToolResult{Content: []mcp.Content{png}}, media: []string{"image/png pixels"}},
		"an image too many":       {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 300<<10)}}}, text: "[an image was left out: the result is too large (image/png, 307200 bytes)]"},
		"an image nobody can see": {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/tiff", Data: []byte("x")}}}, text: "[an image was left out: models do not accept this type (image/tiff, 1 bytes)]"},
		"a sound":                 {result: &mcp.CallToolResult{Content: []mcp.Content{text("hear"), &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("x")}}}, text: "hear\n[a sound was left out: models do not accept audio (audio/wav, 1 bytes)]"},
		"a document": {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a/b.pdf", MIMEType: "application/pdf",
			Blob: []byte("pages")}}}}, media: []string{"application/pdf pages"}},
		"a text document": {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "inside"}}}}, text: "inside"},
		"a link":          {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "https://a.example/b", Name: "b"}}}, text: "[a link to https://a.example/b]"},
		"a secret":        {result: &mcp.CallToolResult{Content: []mcp.Content{text("you sent " + token)}}, text: "you sent [secret TOKEN]"},
		"a secret in an image": {result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("x" + token)}}},
			text: "[an image was left out: it contains a secret (image/png, 26 bytes)]"},
		"too long": {result: &mcp.CallToolResult{Content: []mcp.Content{text(strings.Repeat("a", 300<<10))}}, text: "aaaa..."},
		"wrong arguments": {err: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "order is missing \x1b[2J"}, failed: true,
			text: "The call did not run: the MCP server HOST refused the call, as it does not accept these arguments, or has no such tool: order is missing \\x1b[2J."},
		"an error of the server": {err: errors.New("dial tcp 10.1.2.3: password " + token), failed: true,
			text: "The MCP server HOST answered with the error 0. The call may or may not have taken effect."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return tt.result, tt.err })
			out := w.call(w.tools(), call{})
			want, open := strings.CutSuffix(strings.ReplaceAll(tt.text, "HOST", strings.TrimPrefix(w.http.URL, "http://")), "...")
			if out.Text != want && !(open && strings.HasPrefix(out.Text, want)) || out.Failed != tt.failed || len(out.Text) > 256<<10 {
				t.Errorf("outcome %.300q failed %v, want %q", out.Text, out.Failed, want)
			}
			var media []string
			for _, m := range out.Media {
				media = append(media, m.Media+" "+string(m.Data))
			}
			if strings.Join(media, ",") != strings.Join(tt.media, ",") {
				t.Errorf("media %q, want %q", media, tt.media)
			}
			if all := fmt.Sprintf("%+v", out) + w.log.String(); strings.Contains(all, token) {
				t.Errorf("the secret is in %s", all)
			}
		})
	}
}

func TestAToolThatSaysNothingOfItsServerIsRefused(t *testing.T) {
	w := newWorld(t, false, says(text("ok")))
	def := agent.Definition{Servers: map[string]agent.Server{
		"odd":     {URL: w.http.URL, Headers: map[string]string{"X-Order": "{order}"}},
		"session": {URL: w.http.URL, Headers: map[string]string{"mcp-session-id": "mine"}},
	}}
	for server, want := range map[string]string{"none": "add it under servers", "odd": "but no arguments", "session": "is set by this program"} {
		if _, err := w.tools().Body(def, agent.Tool{Name: "do", MCP: &agent.MCP{Server: server}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", server, err, want)
		}
	}
}

func TestATaskIsNotTakenForAnEmptySuccess(t *testing.T) {
	w := newWorld(t, false, says(text("ok")))
	w.between = answering("tools/call", `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task","taskId":"t1","status":"working"}}`)
	if out := w.call(w.tools(), call{}); !out.Failed || !strings.Contains(out.Text, "does not support (task)") {
		t.Errorf("outcome %+v", out)
	}
	if out := w.call(w.tools(), call{atMostOnce: true}); out.Ticket == nil || out.Kind != core.KindUnknownOutcome {
		t.Errorf("outcome %+v; a person has to say what became of it", out)
	}
}

func TestArgumentsGoIntoHeadersThatTheServerWants(t *testing.T) {
	w := newWorld(t, false, says(text("ok")))
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	w.server.AddTool(&mcp.Tool{Name: "do", InputSchema: schema}, says(text("ok")))
	tools := w.tools()
	for range 2 {
		if out := w.call(tools, call{tool: agent.Tool{Parameters: schema}, args: `{"region":"eu"}`}); out.Failed {
			t.Errorf("outcome %+v", out)
		}
	}
	calls := w.requests("tools/call")
	if len(calls) != 2 || calls[0].header.Get("Mcp-Param-Region") != "eu" || calls[1].header.Get("Mcp-Param-Region") != "eu" || len(w.requests("tools/list")) != 1 {
		t.Errorf("%d calls, headers %v, listed %d times", len(calls), calls[0].header, len(w.requests("tools/list")))
	}
}

func TestWhatAServerSaysNeverPanics(t *testing.T) {
	for _, body := range []string{``, `null`, `[]`, `{}`, `{"jsonrpc":"2.0","id":ID}`, `{"jsonrpc":"2.0","id":ID,"result":null}`, `{"jsonrpc":"2.0","id":ID,"result":[]}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":null}}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":[null]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"hologram"}]}}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"resource"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":null}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":null}}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list","params":{}}}}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602}}`, `{"jsonrpc":"2.0","id":ID,"error":null}`, string(bytes.Repeat([]byte(`{"a":`), 2000)),
	} {
		w := newWorld(t, false, says(text("ok")))
		w.between = answering("tools/call", body)
		if out := w.call(w.tools(), call{}); out.Text == "" && out.Ticket == nil {
			t.Errorf("%.60s: nothing was said: %+v", body, out)
		}
	}
}

// TestWhatAServerSendsBesidesItsAnswerNeverPanics: the SDK reads it in goroutines of its own, where
// nothing could catch that.
func TestWhatAServerSendsBesidesItsAnswerNeverPanics(t *testing.T) {
	for _, event := range []string{`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":null}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`, `{"jsonrpc":"2.0","method":"notifications/message"}`,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`, `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":null}`,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":"form","requestedSchema":{"properties":{"a":null}}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}`, `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, `{}`, `null`, `[]`, `7`,
	} {
		w := newWorld(t, false, says(text("ok")))
		w.between = func(rw http.ResponseWriter, _ *http.Request, r request) bool {
			if r.method != "tools/call" {
				return false
			}
			var message struct{ ID json.RawMessage }
			_ = json.Unmarshal([]byte(r.body), &message)
			rw.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(rw, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n\n", event, message.ID)
			return true
		}
		if out := w.call(w.tools(), call{}); out.Text == "" {
			t.Errorf("%s: nothing was said: %+v", event, out)
		}
	}
}
