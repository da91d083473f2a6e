// Package mcpserver answers requests of the Model Context Protocol: each agent is a tool, and the
// questions of its runs are input that a tool call needs. It speaks revision 2026-07-28, and the
// older ones that the SDK knows, without sessions. Any process can answer each request, since what
// there is to remember is in the journal.
//
//	client   tools/call refund-desk {input}         starts a run, waits for up to 20 s
//	server   input_required {sus_1: form}, state    the run waits for an approval
//	client   tools/call, state, {sus_1: accept}     a decision on the open suspension sus_1
//	server   complete                               the output of the run
//
// A retry says two things: by its state which run it means, and by its responses what was decided.
// Its arguments are not read, and neither is any other claim about the run. A client that can't ask
// its user gets a text that names the run, and goes on with the tools get_run, list_approvals and
// decide.
//
// What a model says with decide is a claim about its user. A client that can ask has the user
// confirm it: the first call stores nothing, and is answered with a form that shows the question
// and the proposed decision. Its state names both, so that the retry stores this decision on this
// question, or nothing.
//
// # Repeats
//
// The protocol gives a request no identity that outlives a lost answer: a client must send it again
// under a new id, ids and progress tokens are counters that start again with each process, and
// there are no sessions. So this holds:
//
//   - A retry with requestState never starts a run, and a repeat of its decisions has no further
//     effect.
//   - A first call with a key starts one run, however often it is sent. The key is the member
//     [KeyMeta] of _meta, or the header Idempotency-Key.
//   - A call with thread and without a key starts no second run while the run of the
//     conversation is open. If its input is the newest message of that run, it is taken for a
//     repeat.
//   - Any other first call that is sent again starts another run. Nothing tells it from a call that
//     is meant.
//
// A client that goes away ends the wait and not the run.
package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Desk does for one caller what the HTTP API does for it, and checks the same: roles, tenant and
// rate. Its errors are refusals, or faults of the server.
type Desk interface {
	// Agents lists those that the caller may start.
	Agents(ctx context.Context) ([]wire.Agent, error)

	// Start starts a run, or continues a conversation, and returns the id of the run.
	Start(ctx context.Context, in Input) (run string, err error)

	// Await reads a run once it does nothing until someone acts, or after longest.
	Await(ctx context.Context, run string, longest time.Duration) (wire.Run, error)

	// Question is what waits under a suspension, for a caller who may decide; nil once it
	// doesn't.
	Question(ctx context.Context, sus string) (*wire.Approval, error)

	// Decide decides about a call of a run; an empty run is the one of the suspension.
	Decide(ctx context.Context, run string, d wire.Decision) (wire.DecisionAnswer, error)

	Cancel(ctx context.Context, run string) (wire.Run, error)
	Approvals(ctx context.Context, f Filter) (wire.Page[wire.Approval], error)
}

// Seals write the states of calls that wait for input, so that only the same caller can use them,
// for a while. They refuse to open other texts, states of the other kind, and those of other
// callers.
type Seals interface {
	Run(ctx context.Context, run string) (state string, err error)
	OpenRun(ctx context.Context, state string) (run string, err error)
	Proposal(ctx context.Context, p Proposal) (state string, err error)
	OpenProposal(ctx context.Context, state string) (Proposal, error)
}

// Proposal is a decision that the model has proposed, and the question that its user was shown. A
// no doesn't use its state up: a client that turns it into a yes could as well have asked no one.
type Proposal struct {
	Suspension string
	Shown      string // the fingerprint of the question
	Digest     string // of the arguments of the tool decide
}

// Input is what an agent is called with.
type Input struct {
	Agent, Text string
	Thread      string // the id of a thread, or the caller's key for one; empty: a new one
	Key         string // makes the call idempotent; empty: nothing does
}

// Filter selects suspended calls.
type Filter struct {
	Agent    string `json:"agent"`
	Kind     string `json:"kind"`
	ThreadID string `json:"thread_id"`
	Limit    int    `json:"limit"`
	Cursor   string `json:"cursor"`
}

// Server answers the requests of one caller.
type Server struct {
	Desk    Desk
	Seals   Seals
	Caller  frontend.Caller
	Version string // of the program
}

// Answer is an HTTP response.
type Answer struct {
	Status    int
	MediaType string // empty: there is no body
	Body      []byte
}

// latest is the first version in which a call can ask for input and come back.
const latest = "2026-07-28"

// KeyMeta is the member of _meta by which a client makes a call idempotent.
const KeyMeta = "dormouse.dev/idempotency-key"

const (
	keyHeader = "Idempotency-Key"
	longest   = 20 * time.Second // that a call waits for its run
	listFresh = time.Minute      // for how long a client may keep the list of tools
)

// Answer answers the message in body. The error is one of the server; then there is no answer.
func (s Server) Answer(r *http.Request, body []byte) (Answer, error) {
	m := readMessage(body)
	if err := m.checkID(); err != nil {
		return Answer{}, err
	}
	if m.method == "subscriptions/listen" {
		return noStreams(m.id), nil
	}
	x := &exchange{Server: s, header: r.Header, call: m.call}
	var got recorder
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return x.server(r.Context()) },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true}).
		ServeHTTP(&got, forSDK(r, body))
	if err := x.failed(); err != nil {
		return Answer{}, err
	}
	answer := Answer{Status: cmp.Or(got.status, http.StatusOK), MediaType: got.Header().Get("Content-Type"), Body: got.body.Bytes()}
	if answer.Status >= http.StatusBadRequest && strings.HasPrefix(answer.MediaType, "text/plain") {
		return Answer{}, unread(answer.Status, got.body.String())
	}
	return answer, nil
}

// forSDK is the request with its body, which was read already. A client that lacks the header
// Accept takes what it gets.
func forSDK(r *http.Request, body []byte) *http.Request {
	in := r.Clone(r.Context())
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.Header.Set("Accept", "application/json, text/event-stream")
	return in
}

// noStreams refuses to stream changes: the list of tools says for how long it is good, and a task
// is polled.
func noStreams(id json.RawMessage) Answer {
	body := core.Encode(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": jsonrpc.CodeMethodNotFound, "message": "this server has no subscriptions; list the tools again, or poll tasks/get"}})
	return Answer{Status: http.StatusNotFound, MediaType: "application/json", Body: body}
}

// exchange is one request.
type exchange struct {
	Server
	header http.Header
	call   call

	// of the client, as this request declares it
	asks  bool // it can ask its user
	tasks bool // it polls tasks

	task *task // the answer, in place of a result

	mu    sync.Mutex
	fault error
}

func (x *exchange) server(outer context.Context) *mcp.Server {
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	caps.AddExtension(tasksExtension, nil)
	srv := mcp.NewServer(&mcp.Implementation{Name: "dormouse", Version: cmp.Or(x.Version, "unknown")}, &mcp.ServerOptions{Capabilities: caps,
		Instructions: "Each tool that is not listed here starts a run of the agent with its name. A run may wait for people: list_approvals shows what waits, decide answers it, get_run follows a run, cancel_run ends it.",
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = int(listFresh.Milliseconds()), "private"
		}})
	x.addTasks(srv)
	srv.AddReceivingMiddleware(x.within(outer), x.tools(srv))
	return srv
}

// within ends the work with the HTTP request, learns what the client can do, and keeps a panic from
// ending the process: the SDK's goroutines don't catch any.
func (x *exchange) within(outer context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					result, err = nil, x.failing(fmt.Errorf("mcpserver: panic: %v", p))
				}
			}()
			// the SDK would fail
			if p, is := req.GetParams().(*taskParams); is && p == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request has no params"}
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(outer, cancel)()
			x.learn(req)
			return next(ctx, method, req)
		}
	}
}

// learn notes what the client declares in this request. Before 2026-07-28 it declares it once, in a
// session, which there is none of; and it could be asked only while its call is answered.
func (x *exchange) learn(req mcp.Request) {
	declares, ok := req.(interface {
		ProtocolVersion() string
		ClientCapabilities() *mcp.ClientCapabilities
	})
	if !ok || declares.ProtocolVersion() < latest {
		return
	}
	caps := declares.ClientCapabilities()
	if caps == nil {
		return
	}
	x.asks = caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
	_, x.tasks = caps.Extensions[tasksExtension]
}

// failing is the answer to a fault of the server, which is kept for its log.
func (x *exchange) failing(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fault = cmp.Or(x.fault, err)
	return errors.New("internal error")
}

func (x *exchange) failed() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fault
}

// may says whether the caller has one of the roles.
func (x *exchange) may(roles ...access.Role) bool {
	return access.Principal{Roles: x.Caller.Roles}.May(roles...)
}

// listed says whether the caller is in a list of callers.
func (x *exchange) listed(callers []string) bool {
	return slices.ContainsFunc(callers, func(entry string) bool {
		return access.IsListed(entry, x.Caller.By, x.Caller.Roles, x.Caller.Claims)
	})
}

// recorder keeps the SDK's answer until it is known whether it is to be sent.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

func (r *recorder) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
