package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// answering answers one method of JSON-RPC by hand.
func answering(method, body string) func(http.ResponseWriter, *http.Request, request) bool {
	return func(w http.ResponseWriter, _ *http.Request, r request) bool {
		if r.method != method {
			return false
		}
		var message struct{ ID json.RawMessage }
		_ = json.Unmarshal([]byte(r.body), &message)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(message.ID)))
		return true
	}
}

// status answers one method with a bare status.
func status(method string, code int) func(http.ResponseWriter, *http.Request, request) bool {
	return func(w http.ResponseWriter, _ *http.Request, r request) bool {
		if r.method == method {
			w.WriteHeader(code)
		}
		return r.method == method
	}
}

// cutOff breaks the connection under a call.
func cutOff(_ http.ResponseWriter, _ *http.Request, r request) bool {
	if r.method == "tools/call" {
		panic(http.ErrAbortHandler)
	}
	return false
}

// half begins an answer to a call and breaks off.
func half(w http.ResponseWriter, _ *http.Request, r request) bool {
	if r.method != "tools/call" {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// flood answers with more than is read.
func flood(w http.ResponseWriter, _ *http.Request, r request) bool {
	if r.method != "tools/call" {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	for range mostRead/1024 + 10 {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1024)); err != nil {
			break
		}
	}
	return true
}

// TestADoubtAboutACallThatMustNotRunTwiceIsAQuestion: and the call is sent once.
func TestADoubtAboutACallThatMustNotRunTwiceIsAQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		between func(http.ResponseWriter, *http.Request, request) bool
		says    string
		sent    int // how often, if it may be repeated
	}{
		"no answer":      {cutOff, "no readable answer came", 3},
		"half an answer": {half, "no readable answer came", 3},
		"502":            {status("tools/call", 502), "a gateway in front of it answered 502 Bad Gateway", 3},
		"503":            {status("tools/call", 503), "a gateway in front of it answered 503 Service Unavailable", 3},
		"too long":       {flood, "its answer is longer than the 4194304 bytes that are read", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, says(text("ok")))
			w.between = tt.between
			out := w.call(w.tools(), call{atMostOnce: true})
			if out.Ticket == nil || out.Kind != core.KindUnknownOutcome || !strings.Contains(out.Ticket.Suspension.Message, tt.says) {
				t.Errorf("outcome %+v", out)
			}
			if n := len(w.requests("tools/call")); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			w.got = nil
			out = w.call(w.tools(), call{})
			if !out.Failed || !strings.Contains(out.Text, tt.says) || !strings.Contains(out.Text, "may or may not have taken effect") {
				t.Errorf("outcome %+v", out)
			}
			if n := len(w.requests("tools/call")); n != tt.sent {
				t.Errorf("it was sent %d times, want %d", n, tt.sent)
			}
			out = w.call(w.tools(), call{tool: agent.Tool{ReadOnly: true}})
			if strings.Contains(out.Text, "taken effect") {
				t.Errorf("what only reads has no effect: %s", out.Text)
			}
		})
	}
}

func TestWhatWasRefusedDidNotRun(t *testing.T) {
	for name, tt := range map[string]struct {
		between func(http.ResponseWriter, *http.Request, request) bool
		says    string
	}{
		"not let in":        {status("tools/call", 401), "denied access: it answered 401 Unauthorized"},
		"not found":         {status("tools/call", 404), "answered 404 Not Found"},
		"a redirect":        {status("tools/call", 307), "answered with a redirect, which is not followed: 307 Temporary Redirect"},
		"no MCP":            {func(w http.ResponseWriter, _ *http.Request, _ request) bool { w.WriteHeader(405); return true }, "answered 405 Method Not Allowed"},
		"not let in at all": {func(w http.ResponseWriter, _ *http.Request, _ request) bool { w.WriteHeader(401); return true }, "denied access"},
		"a page in place of it": {func(w http.ResponseWriter, _ *http.Request, _ request) bool {
			_, _ = io.WriteString(w, "<html>")
			return true
		}, "does not speak MCP"},
		"a method it has not":    {answering("tools/call", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"x"}}`), "does not know the method (error -32601)"},
		"the connection refused": {nil, "it refused the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, says(text("ok")))
			if w.between = tt.between; tt.between == nil {
				w.http.Close()
			}
			out := w.call(w.tools(), call{atMostOnce: true})
			if !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: the MCP server ") || !strings.Contains(out.Text, tt.says) {
				t.Errorf("outcome %+v", out)
			}
			if n := len(w.requests("tools/call")); n > 1 {
				t.Errorf("it was sent %d times", n)
			}
			if out := w.call(w.tools(), call{again: true}); !strings.HasSuffix(out.Text, " This is the result of the repeat only: the process that made "+
				"the call before crashed, and may have sent it. The call may or may not have taken effect.") {
				t.Errorf("nothing is said of the process that was lost: %s", out.Text)
			}
		})
	}
}

// TestAFailureOfTheRepeatLeavesTheFirstInDoubt: the tool may refuse the second call because it
// carried out the first.
func TestAFailureOfTheRepeatLeavesTheFirstInDoubt(t *testing.T) {
	refusal := &mcp.CallToolResult{Content: []mcp.Content{text("Shipped already.")}, IsError: true}
	for name, tt := range map[string]struct {
		then func(http.ResponseWriter, *http.Request, request) bool
		says string
	}{
		"the tool failed":      {func(http.ResponseWriter, *http.Request, request) bool { return false }, "Shipped already."},
		"the server is busy":   {answering("tools/call", `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"s"}}`), "busy and did not finish the call. Call again later."},
		"the server failed":    {status("tools/call", 500), "answered 500 Internal Server Error."},
		"the call was refused": {status("tools/call", 401), "denied access: it answered 401 Unauthorized."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return refusal, nil })
			w.between = func(rw http.ResponseWriter, r *http.Request, at request) bool {
				if len(w.requests("tools/call")) == 1 {
					return cutOff(rw, r, at)
				}
				return tt.then(rw, r, at)
			}
			const doubt = " It was sent the call before, and no readable answer came: the call may or may not have taken effect."
			if out := w.call(w.tools(), call{}); !out.Failed || !strings.HasSuffix(out.Text, tt.says+doubt) {
				t.Errorf("outcome %+v", out)
			}
			w.got = nil
			if out := w.call(w.tools(), call{tool: agent.Tool{ReadOnly: true}}); !out.Failed || !strings.HasSuffix(out.Text, tt.says) {
				t.Errorf("what only reads has no effect: %+v", out)
			}
		})
	}
}

// TestARepeatThatIsNotSentDoesNotDenyTheFirst: what the crashed process did is not known.
func TestARepeatThatIsNotSentDoesNotDenyTheFirst(t *testing.T) {
	w := newWorld(t, false, says(text("ok")))
	tools := w.tools()
	tools.o.Secrets = secret.Environment(func(string) string { return "" })
	out := w.call(tools, call{again: true})
	if !strings.HasPrefix(out.Text, "The call did not run: ") || !strings.HasSuffix(out.Text, "may have sent it. The call may or may not have taken effect.") {
		t.Errorf("outcome %+v", out)
	}
}

func TestABusyServerIsCalledAgain(t *testing.T) {
	w := newWorld(t, false, says(text("ok")))
	left := 2
	w.between = func(rw http.ResponseWriter, r *http.Request, at request) bool {
		if at.method != "tools/call" || left == 0 {
			return false
		}
		left--
		rw.Header().Set("Retry-After", "7")
		rw.WriteHeader(429)
		return true
	}
	before := w.clock.Now()
	if out := w.call(w.tools(), call{}); out.Text != "ok" {
		t.Errorf("outcome %+v", out)
	}
	if waited := w.clock.Now().Sub(before); waited < 14*time.Second {
		t.Errorf("it was called again after %s, and asked for 14s", waited)
	}
}

func TestAServerThatAsksForTimeIsCalledAgainWithItsState(t *testing.T) {
	w := newWorld(t, false, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.RequestState == "" {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "later"}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text("ok " + r.Params.RequestState)}}, nil
	})
	if out := w.call(w.tools(), call{atMostOnce: true}); out.Text != "ok later" {
		t.Errorf("outcome %+v", out)
	}
}

func TestTheTimeOfACallEndsAndProgressGivesItMore(t *testing.T) {
	steps := 0
	w := newWorld(t, false, nil)
	w.server.AddTool(&mcp.Tool{Name: "do", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range steps {
			w.clock.Advance(25 * time.Second)
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}); err != nil {
				return nil, err
			}
			if !renewed(w, ctx) {
				return nil, errors.New("nobody listens any more")
			}
		}
		w.clock.Advance(25 * time.Second)
		return &mcp.CallToolResult{Content: []mcp.Content{text("ok")}}, nil
	})
	for _, tt := range []struct {
		steps int
		ends  bool
	}{{0, false}, {2, false}, {5, true}} {
		steps = tt.steps
		out := w.call(w.tools(), call{atMostOnce: true})
		if ended := out.Ticket != nil; ended != tt.ends || !ended && out.Text != "ok" {
			t.Errorf("%d steps of 25s: outcome %+v", tt.steps, out)
		}
	}
}

func TestAServersProgressIsPassedOnWithoutSecrets(t *testing.T) {
	w := newWorld(t, false, nil)
	heard := make(chan engine.Progress)
	var all []engine.Progress
	w.server.AddTool(&mcp.Tool{Name: "do", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var told engine.Progress
		for _, p := range []mcp.ProgressNotificationParams{{Progress: 3, Total: 10, Message: "page 3"}, {Progress: 4, Message: "with " + token}} {
			p.ProgressToken = r.Params.GetProgressToken()
			if err := r.Session.NotifyProgress(ctx, &p); err != nil {
				return nil, err
			}
			select {
			case told = <-heard:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			all = append(all, told)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text("ok")}}, nil
	})
	req := call{}.request()
	req.Progress = func(p engine.Progress) { heard <- p }
	if _, err := w.tool(w.tools(), agent.Tool{}).Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0] != (engine.Progress{Done: 3, Total: 10, Text: "page 3"}) {
		t.Fatalf("told %+v", all)
	}
	if p := all[1]; p.Done != 4 || strings.Contains(p.Text, token) || !strings.HasPrefix(p.Text, "with ") {
		t.Errorf("told %+v", p)
	}
}

// renewed waits until the sign of life has arrived, or the call was given up.
func renewed(w *world, ctx context.Context) bool {
	for ; ; time.Sleep(time.Millisecond) {
		at, waits := w.clock.Next()
		if ctx.Err() != nil || !waits {
			return false
		}
		if at.Sub(w.clock.Now()) > 6*time.Second {
			return true
		}
	}
}

func TestTheErrorIsThatOfWhoeverEndedTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	w := newWorld(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		cancel()
		<-over
		return &mcp.CallToolResult{}, nil
	})
	defer close(over)
	if _, err := w.tool(w.tools(), agent.Tool{}).Run(ctx, call{}.request()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
