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

// execution is one call at hand.
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

// exchange is what sending once came to: a result or an error. Sent says that the server may have
// the call; as long as that is false nothing has happened.
type exchange struct {
	result *mcp.CallToolResult
	err    error
	sent   bool
	status int // of HTTP, if it was no success; 0 if there was none
	long   bool
	after  time.Duration
	hidden secret.Values
}

// IdempotencyKey is the member of _meta in which a server finds the key of a call: the same
// whenever one execution is tried again.
const IdempotencyKey = "dormouse-dev.github.io/idempotency-key"

// mostRepeats bounds the attempts at one call beside the first, those included in which a server
// asks for nothing but time.
const mostRepeats = 2

// run sends until there is something to show.
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

// progress passes on how far the server is. Its text may quote a secret.
func (e *execution) progress(p engine.Progress) {
	if report := e.request.Progress; report != nil {
		p.Text = e.hide(p.Text)
		report(p)
	}
}

// send sends once, in a session that no other call uses.
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

// seen completes an exchange with what was on the wire.
func seen(ctx context.Context, x exchange, w *wire) exchange {
	if cause := context.Cause(ctx); x.err != nil && cause != nil {
		x.err = cause
	}
	x.status, x.long, x.after = int(w.status.Load()), w.long.Load(), time.Duration(w.after.Load())
	return x
}

// errPanic is a panic of the SDK over what a server said, as over {"inputRequests":{"a":null}}.
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
	w.only() // until here it was a question
	params := &mcp.CallToolParams{Name: e.name(), Arguments: arguments(e.request.Call), Meta: mcp.Meta{IdempotencyKey: e.request.Key}}
	params.SetProgressToken(core.Digest([]byte(e.request.Key))[:16])
	if e.asked != nil {
		params.RequestState, params.InputResponses = e.asked.State, e.answers
	}
	return s.CallTool(ctx, params)
}

// mostPages bounds how much of a server's list is read.
const mostPages = 20

// learn asks for the server's tools if some of this one's arguments belong into headers, too: the
// SDK puts them there, by the server's own schema. What else that schema says is not looked at.
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

// The SDK marks its own errors as those of servers look: the connection ends, or did not take the
// message.
var ownCodes = []int64{-32003, -32004, -32005, -32006}

// rpc is the error that the server answered with; nil if it was none of the protocol.
func (x exchange) rpc() *jsonrpc.Error {
	var wire *jsonrpc.Error
	if x.err != nil && errors.As(x.err, &wire) && !slices.Contains(ownCodes, wire.Code) {
		return wire
	}
	return nil
}

// answered says whether the server, and nobody before it, said something in the end.
func (x exchange) answered() bool {
	return x.result != nil || x.rpc() != nil || x.status != 0 && !x.gateway()
}

// gone says whether the server does not know the session any more, and nothing was called. The
// session may also end under a call that the server has taken: then nobody knows.
func (x exchange) gone() bool {
	return errors.Is(x.err, mcp.ErrSessionMissing) && (!x.sent || x.status == http.StatusNotFound)
}

// busy says whether somebody asks to come again later.
func (x exchange) busy() bool { return x.status == 429 || x.gateway() }

// gateway says whether what answered is probably not the server.
func (x exchange) gateway() bool {
	return x.status == 502 || x.status == 503 || x.status == 504 || x.status >= 520
}

// Codes of JSON-RPC with which a server says that it did not begin.
var refusals = map[int64]string{
	-32700: "it could not read the request",
	-32600: "it does not take such a request",
	-32601: "it does not know what was asked for",
	-32602: "it does not take these arguments, or has no such tool",
}

// refused says whether the server said that it did not begin.
func (x exchange) refused() bool {
	if rpc := x.rpc(); rpc != nil {
		return refusals[rpc.Code] != ""
	}
	return x.status >= 300 && x.status < 500
}

// resultType is what kind of answer a result is; the SDK shows it only in the JSON of one.
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
