package mcptool

import (
	"bytes"
	"cmp"
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
)

// execution is one call at hand.
type execution struct {
	*body
	request    engine.ToolRequest
	values     secret.Values
	link       link
	repeatable bool // the request may be sent again though it may have arrived
	asked      *asked
	answers    mcp.InputResponseMap
	wait       *patience
}

// attempt is what sending once came to: a result or an error. Sent says that the server may have the call; as long as that is false nothing
// has happened.
type attempt struct {
	result *mcp.CallToolResult
	err    error
	sent   bool
	status int // of HTTP, if it was no success; 0 if there was none
	long   bool
	after  time.Duration
	hidden secret.Values
}

// IdempotencyKey is the member of _meta in which a server finds the key of a call: the same whenever one execution is tried again.
const IdempotencyKey = "dormouse-dev.github.io/idempotency-key"

// mostRepeats bounds the attempts at one call beside the first, those included in which a server asks for nothing but time.
const mostRepeats = 2

// run sends until there is something to tell. The error is that of ctx: whoever ended it knows what it means.
func (e *execution) run(ctx context.Context) (core.Outcome, error) {
	if again, waits := e.resume(); waits {
		return again, nil
	}
	inside, wait := patient(ctx, e.tools.o.Clock, e.tool.MCP.Limit())
	defer wait.done()
	wait.progress = e.progress
	e.wait = wait
	earlier := "" // why nobody knows whether an attempt before this one took effect
	for try := 0; ; try++ {
		a := e.send(inside)
		if ctx.Err() != nil && a.result == nil {
			return core.Outcome{}, ctx.Err()
		}
		pause, again := e.again(a, try)
		if !again || context.Cause(inside) != nil {
			return e.outcome(a, earlier), nil
		}
		earlier = cmp.Or(e.unsettled(a), earlier)
		if err := engine.Sleep(ctx, e.tools.o.Clock, pause); err != nil {
			return core.Outcome{}, err
		}
	}
}

// progress passes on how far the server is. Its text may quote a secret.
func (e *execution) progress(p engine.Progress) {
	if report := e.request.Progress; report != nil {
		p.Text = e.hide(p.Text)
		report(p)
	}
}

// again says whether to send once more, and when. What may have arrived is sent again only if the tool may be repeated; a server that says
// that it did nothing yet and wants the same call again is taken at its word.
func (e *execution) again(a attempt, try int) (pause time.Duration, again bool) {
	if try >= mostRepeats {
		return 0, false
	}
	pause = max(e.backoff(try), a.after)
	switch {
	case a.result != nil && a.sheds():
		e.asked, e.answers = &asked{State: a.result.RequestState}, nil
	case a.result != nil, a.long, a.refused() && !a.busy() && !a.gone():
		return 0, false
	case !a.sent, a.gone():
	case !e.repeatable, a.answered() && !a.busy():
		return 0, false
	}
	return pause, e.tools.o.Clock.Now().Add(pause).Before(e.wait.ends)
}

// backoff doubles from a quarter of a second.
func (e *execution) backoff(try int) time.Duration {
	return engine.Jitter(e.tools.o.Random, 250*time.Millisecond<<try)
}

// send sends once, in a session that nobody else uses.
func (e *execution) send(ctx context.Context) attempt {
	s := e.tools.pool.take(e.link.key())
	if s == nil {
		var x exchange
		var err error
		if s, err = e.tools.connect(watched(ctx, &x), e.link); err != nil {
			return seen(ctx, attempt{err: err, hidden: e.values}, &x)
		}
	}
	s.call.Store(e.wait)
	var x exchange
	result, err := e.guarded(watched(ctx, &x), s, &x)
	s.call.Store(nil)
	a := seen(ctx, attempt{result: result, err: err, sent: x.sent.Load(), hidden: e.values}, &x)
	if a.result != nil || a.rpc() != nil && a.status == 0 {
		e.tools.pool.put(s)
	} else {
		drop(s)
	}
	return a
}

// seen completes an attempt with what was on the wire.
func seen(ctx context.Context, a attempt, x *exchange) attempt {
	if cause := context.Cause(ctx); a.err != nil && cause != nil {
		a.err = cause
	}
	a.status, a.long, a.after = int(x.status.Load()), x.long.Load(), time.Duration(x.after.Load())*time.Second
	return a
}

// errPanic is a panic of the SDK over what a server said, as over {"inputRequests":{"a":null}}.
var errPanic = errors.New("the answer cannot be read by the MCP library")

func (e *execution) guarded(ctx context.Context, s *session, x *exchange) (r *mcp.CallToolResult, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r, err = nil, fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	return e.call(ctx, s, x)
}

func (e *execution) call(ctx context.Context, s *session, x *exchange) (*mcp.CallToolResult, error) {
	if err := e.learn(ctx, s); err != nil {
		return nil, err
	}
	x.only() // until here it was a question
	params := &mcp.CallToolParams{Name: e.name(), Arguments: arguments(e.request.Call), Meta: mcp.Meta{IdempotencyKey: e.request.Key}}
	params.SetProgressToken(core.Digest([]byte(e.request.Key))[:16])
	if e.asked != nil {
		params.RequestState, params.InputResponses = e.asked.State, e.answers
	}
	return s.CallTool(ctx, params)
}

// mostPages bounds how much of a server's list is read.
const mostPages = 20

// learn asks for the server's tools if some of this one's arguments belong into headers, too: the SDK puts them there, by the server's own
// schema. What else that schema says is not looked at.
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

// The SDK marks its own errors as those of servers look: the connection ends, or did not take the message.
var ownCodes = []int64{-32003, -32004, -32005, -32006}

// rpc is the error that the server answered with; nil if it was none of the protocol.
func (a attempt) rpc() *jsonrpc.Error {
	var wire *jsonrpc.Error
	if a.err != nil && errors.As(a.err, &wire) && !slices.Contains(ownCodes, wire.Code) {
		return wire
	}
	return nil
}

// answered says whether the server, and nobody before it, said something in the end.
func (a attempt) answered() bool {
	return a.result != nil || a.rpc() != nil || a.status != 0 && !a.gateway()
}

// gone says whether the server does not know the session any more, and nothing was called. The session may also end under a call that the
// server has taken: then nobody knows.
func (a attempt) gone() bool {
	return errors.Is(a.err, mcp.ErrSessionMissing) && (!a.sent || a.status == http.StatusNotFound)
}

// sheds says whether the server asks for nothing but time.
func (a attempt) sheds() bool {
	return a.result.NeedsInput() && len(a.result.InputRequests) == 0
}

// busy says whether somebody asks to come again later.
func (a attempt) busy() bool { return a.status == 429 || a.gateway() }

// gateway says whether what answered is probably not the server.
func (a attempt) gateway() bool {
	return a.status == 502 || a.status == 503 || a.status == 504 || a.status >= 520
}

// Codes of JSON-RPC with which a server says that it did not begin.
var refusals = map[int64]string{
	-32700: "it could not read the request",
	-32600: "it does not take such a request",
	-32601: "it does not know what was asked for",
	-32602: "it does not take these arguments, or has no such tool",
}

// refused says whether the server said that it did not begin.
func (a attempt) refused() bool {
	if rpc := a.rpc(); rpc != nil {
		return refusals[rpc.Code] != ""
	}
	return a.status >= 300 && a.status < 500
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
