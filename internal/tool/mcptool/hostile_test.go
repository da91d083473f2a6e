package mcptool

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// TestOnlyTheAnswerToTheCallSaysWhetherItRan: what a server answers to anything else that is sent
// beside the call says nothing of it.
func TestOnlyTheAnswerToTheCallSaysWhetherItRan(t *testing.T) {
	for _, code := range []int{307, 400, 404, 429, 503} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			w := newWorld(t, true, says(text("ok")))
			w.between = func(rw http.ResponseWriter, req *http.Request, r request) bool {
				switch {
				case r.method == "tools/call":
					rw.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(rw, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n")
					rw.(http.Flusher).Flush()
					<-req.Context().Done()
					return true
				case r.method == "" && strings.Contains(r.body, `"id":7`):
					rw.WriteHeader(code)
					if code == 429 || code == 503 { // the library waits on
						w.clock.Advance(time.Hour)
					}
					return true
				}
				return false
			}
			out := w.call(w.tools(), call{atMostOnce: true})
			if out.Ticket == nil || out.Kind != core.KindUnknownOutcome {
				t.Errorf("outcome %+v", out)
			}
			if n := len(w.requests("tools/call")); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
		})
	}
}

// TestAnAnswerThatIsNestedWithoutEndIsADoubt: reading it must not take the whole process with it.
func TestAnAnswerThatIsNestedWithoutEndIsADoubt(t *testing.T) {
	for name, around := range map[string][2]string{"lists": {"[", "]"}, "objects": {`{"a":`, "}"}} {
		deep := strings.Repeat(around[0], 400_000) + "1" + strings.Repeat(around[1], 400_000)
		for where, body := range map[string]string{
			"structure": `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":DEEP}}`,
			"meta":      `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"_meta":{"a":DEEP}}}`,
			"content":   `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x","annotations":DEEP}]}}`,
			"unknown":   `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"other":DEEP}}`,
			"requests":  `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","requestedSchema":DEEP}}}}}`,
			"error":     `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"x","data":DEEP}}`,
			"open":      `{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat(around[0], 600_000),
		} {
			t.Run(name+" in "+where, func(t *testing.T) {
				w := newWorld(t, false, says(text("ok")))
				w.between = answering("tools/call", strings.Replace(body, "DEEP", deep, 1))
				out := w.call(w.tools(), call{atMostOnce: true})
				if strings.HasPrefix(out.Text, "The call did not run") {
					t.Errorf("outcome %.300q; it was sent", out.Text)
				}
			})
		}
	}
}

// TestOnlyARefusalOfTheServerSaysThatACallDidNotRun: an answer that cannot be read comes from a
// server that was sent the call.
func TestOnlyARefusalOfTheServerSaysThatACallDidNotRun(t *testing.T) {
	for _, body := range []string{``, `null`, `[]`, `7`, `{}`, `{"jsonrpc":"2.0","id":{},"result":{}}`, `{"jsonrpc":"2.0","id":[ID],"result":{}}`, `{"jsonrpc":"1.0","id":ID,"result":{}}`,
		`{"jsonrpc":"2.0","id":ID,"result":[]}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":7}}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"hologram"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"isError":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"image","data":"*"}]}}`, `{"jsonrpc":"2.0","id":ID,"error":7}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":"x"}}`, `{"jsonrpc":"2.0","id":ID}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":null}}}`, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":7}}`,
	} {
		w := newWorld(t, false, says(text("ok")))
		w.between = answering("tools/call", body)
		out := w.call(w.tools(), call{atMostOnce: true})
		if strings.HasPrefix(out.Text, "The call did not run") {
			t.Errorf("%s: outcome %.300q; it was sent", body, out.Text)
		}
	}
}

// TestNoBeginningOfASecretIsLeftWhereATextIsCut: all of it is hidden before anything is cut.
func TestNoBeginningOfASecretIsLeftWhereATextIsCut(t *testing.T) {
	for name, tt := range map[string]struct {
		most int
		say  func(string) (*mcp.CallToolResult, error)
	}{
		"an error": {mostShown, func(s string) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s}
		}},
		"a link": {mostShown, func(s string) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: s, Name: "x"}}}, nil
		}},
		"a form": {mostMessage, func(s string) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": form(s, address)}}, nil
		}},
		"a kind": {60, func(s string) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: s, Data: []byte("x")}}}, nil
		}},
		"a field": {60, func(s string) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": form("x", `{"type":"object","properties":{"`+s+`":{"type":"object"}}}`)}}, nil
		}},
		"a request": {60, func(s string) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{s: form("x", address), "b": form("y", address)}}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return tt.say(strings.Repeat("x", tt.most-10) + token)
			})
			out := w.call(w.tools(), call{state: pad.New(core.State{})})
			said := out.Text
			if out.Ticket != nil {
				said += out.Ticket.Suspension.Message
			}
			if strings.Contains(said+w.log.String(), token[:5]) {
				t.Errorf("the secret begins in %s", said)
			}
		})
	}
}

// TestTenantsShareNoSession: a server may remember in a session what was said in it.
func TestTenantsShareNoSession(t *testing.T) {
	w := newWorld(t, true, says(text("ok")))
	tools := w.tools()
	for _, tenant := range []string{"one", "two", "one"} {
		r := call{}.request()
		r.Tenant = tenant
		if _, err := w.tool(tools, agent.Tool{}).Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var sessions []string
	for _, r := range w.requests("tools/call") {
		sessions = append(sessions, r.header.Get("Mcp-Session-Id"))
	}
	if len(sessions) != 3 || sessions[0] == sessions[1] || sessions[0] != sessions[2] {
		t.Errorf("sessions %q", sessions)
	}
}

// TestWhatAServerAsksForInVainIsADoubt: it was sent the call, and perhaps did a part of it.
func TestWhatAServerAsksForInVainIsADoubt(t *testing.T) {
	for name, asks := range map[string]*mcp.CallToolResult{
		"a state of 3 MB":   {InputRequests: oneForm, RequestState: strings.Repeat("s", 3<<20)},
		"a form of 3 MB":    {InputRequests: mcp.InputRequestMap{"a": form(strings.Repeat("x", 3<<20), address), "b": form("x", `{"type":"object","title":"`+strings.Repeat("x", 20<<10)+`"}`)}},
		"a name of 20 KB":   {InputRequests: mcp.InputRequestMap{strings.Repeat("x", 20<<10): oneForm["where"]}},
		"nine things":       {InputRequests: mcp.InputRequestMap{"1": oneForm["where"], "2": oneForm["where"], "3": oneForm["where"], "4": oneForm["where"], "5": oneForm["where"], "6": oneForm["where"], "7": oneForm["where"], "8": oneForm["where"], "9": oneForm["where"]}},
		"an address of its": {InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{Mode: "url", Message: "x", URL: "javascript:alert(1)", ElicitationID: "e"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return asks, nil })
			pad := pad.New(core.State{})
			out := w.call(w.tools(), call{state: pad, atMostOnce: true})
			if !out.Failed || !strings.HasSuffix(out.Text, "may or may not have taken effect.") || len(out.Text) > 500 || len(pad.Ops()) != 0 {
				t.Errorf("outcome %.600q, kept %d", out.Text, len(pad.Ops()))
			}
			if n := len(w.requests("tools/call")); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			if out := w.call(w.tools(), call{tool: agent.Tool{ReadOnly: true}}); strings.Contains(out.Text, "taken effect") {
				t.Errorf("what only reads has no effect: %s", out.Text)
			}
		})
	}
}
