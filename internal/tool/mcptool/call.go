package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// execution is one execution of a call.
type execution struct {
	*body
	request engine.ToolRequest
	rules   remote.Call
	values  secret.Values
	link    link
	asked   *asked
	answers mcp.InputResponseMap
	last    exchange
}

// exchange is the result of sending once: a result or an error. If sent is false, the server cannot
// have received the call.
type exchange struct {
	result *mcp.CallToolResult
	err    error
	sent   bool
	status int // the HTTP status if it is not a success; 0 without one
	long   bool
	after  time.Duration
	hidden secret.Values
}

// IdempotencyKey is the member of _meta that contains the idempotency key of a call. Every retry of
// one execution has the same key.
const IdempotencyKey = "dormouse-dev.github.io/idempotency-key"

// mostRepeats limits the retries of one call, including those that a server causes by asking for
// more time.
const mostRepeats = 2

// run sends the call until it has an outcome.
func (e *execution) run(ctx context.Context) (core.Outcome, error) {
	if out, waits := e.resume(); waits {
		return out, nil
	}
	out, err := e.rules.Run(ctx, func(ctx context.Context, patience *remote.Patience) remote.Attempt {
		e.last = e.send(ctx, &listener{patience, e.progress})
		return e.attempt(e.last)
	})
	if err == nil && e.last.err != nil {
		e.log(e.last)
	}
	return out, err
}

// progress forwards the progress of the server. Its text may quote a secret.
func (e *execution) progress(p engine.Progress) {
	if report := e.request.Progress; report != nil {
		p.Text = e.hide(p.Text)
		report(p)
	}
}

// send sends the call once, in a session that no other call uses.
func (e *execution) send(ctx context.Context, l *listener) exchange {
	s := e.tools.pool.take(e.link.key())
	if s == nil {
		var w wire
		var err error
		if s, err = e.tools.connect(watched(ctx, &w), e.link); err != nil {
			return seen(ctx, exchange{err: err, hidden: e.values}, &w)
		}
	}
	s.call.Store(l)
	var w wire
	result, err := e.guarded(watched(ctx, &w), s, &w)
	s.call.Store(nil)
	x := seen(ctx, exchange{result: result, err: err, sent: w.sent.Load(), hidden: e.values}, &w)
	if x.result != nil || x.rpc() != nil && x.status == 0 {
		e.tools.pool.put(s)
	} else {
		drop(s)
	}
	return x
}

// seen completes an exchange with what was observed on the wire.
func seen(ctx context.Context, x exchange, w *wire) exchange {
	if cause := context.Cause(ctx); x.err != nil && cause != nil {
		x.err = cause
	}
	x.status, x.long, x.after = int(w.status.Load()), w.long.Load(), time.Duration(w.after.Load())
	return x
}

// errPanic is a panic of the SDK over an answer such as {"inputRequests":{"a":null}}.
var errPanic = errors.New("the answer cannot be read by the MCP library")

func (e *execution) guarded(ctx context.Context, s *session, w *wire) (r *mcp.CallToolResult, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r, err = nil, fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	return e.call(ctx, s, w)
}

func (e *execution) call(ctx context.Context, s *session, w *wire) (*mcp.CallToolResult, error) {
	if err := e.learn(ctx, s); err != nil {
		return nil, err
	}
	w.only() // requests before this one were not the call
	params := &mcp.CallToolParams{Name: e.name(), Arguments: arguments(e.request.Call), Meta: mcp.Meta{IdempotencyKey: e.request.Key}}
	params.SetProgressToken(core.Digest([]byte(e.request.Key))[:16])
	if e.asked != nil {
		params.RequestState, params.InputResponses = e.asked.State, e.answers
	}
	return s.CallTool(ctx, params)
}

// mostPages limits how much of a server's list is read.
const mostPages = 20

// learn fetches the server's tools if some arguments of this one also belong into headers: the SDK
// puts them there, according to the server's own schema. Nothing else in that schema is used.
func (e *execution) learn(ctx context.Context, s *session) error {
	if s.listed || !s.modern() || !bytes.Contains(e.tool.Parameters, []byte(`"x-mcp-header"`)) {
		return nil
	}
	cursor := ""
	for range mostPages {
		page, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	s.listed = true
	return nil
}

// The codes of the SDK's own errors, which look like those of servers: the connection is closing,
// or rejected the message.
var ownCodes = []int64{-32003, -32004, -32005, -32006}

// rpc returns the error that the server answered with, or nil if it is not an error of the
// protocol.
func (x exchange) rpc() *jsonrpc.Error {
	var wire *jsonrpc.Error
	if x.err != nil && errors.As(x.err, &wire) && !slices.Contains(ownCodes, wire.Code) {
		return wire
	}
	return nil
}

// answered reports whether the server itself gave a final answer.
func (x exchange) answered() bool {
	return x.result != nil || x.rpc() != nil || x.status != 0 && !x.gateway()
}

// gone reports whether the server no longer knows the session, so that nothing was called. A
// session may also end during a call that the server has accepted; its outcome is then unknown.
func (x exchange) gone() bool {
	return errors.Is(x.err, mcp.ErrSessionMissing) && (!x.sent || x.status == http.StatusNotFound)
}

// busy reports whether the server, or a gateway in front of it, asks to retry later.
func (x exchange) busy() bool { return x.status == 429 || x.gateway() }

// gateway reports whether the answer probably comes from a gateway instead of the server.
func (x exchange) gateway() bool {
	return x.status == 502 || x.status == 503 || x.status == 504 || x.status >= 520
}

// refusals are the JSON-RPC codes that say that the server did not begin.
var refusals = map[int64]string{
	-32700: "it could not parse the request",
	-32600: "it does not accept such a request",
	-32601: "it does not know the method",
	-32602: "it does not accept these arguments, or has no such tool",
}

// refused reports whether the server said that it did not begin.
func (x exchange) refused() bool {
	if rpc := x.rpc(); rpc != nil {
		return refusals[rpc.Code] != ""
	}
	return x.status >= 300 && x.status < 500
}

// resultType returns the type of a result, which the SDK shows only in its JSON.
func resultType(r *mcp.CallToolResult) string {
	bare := *r
	bare.Content, bare.StructuredContent, bare.Meta, bare.InputRequests = nil, nil, nil, nil
	raw, err := json.Marshal(&bare)
	var kind struct {
		ResultType string `json:"resultType"`
	}
	if err != nil || json.Unmarshal(raw, &kind) != nil {
		return "unreadable"
	}
	return kind.ResultType
}
