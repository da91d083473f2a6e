package mcptool

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// link is a server and the headers that are sent to it. Two calls may use one session one after the
// other only if all of it is the same, and the tenant as well: a server may have bound the session
// to the caller that began it, and may remember what was said in it.
type link struct {
	tenant  string
	server  agent.Server
	headers http.Header
}

// key identifies a link without containing its headers.
func (l link) key() string {
	return core.Digest(core.Encode(struct {
		Tenant  string
		Server  agent.Server
		Headers http.Header
	}{l.tenant, l.server, l.headers}))
}

// session is a connected client that carries one call at a time. The SDK ends a session, and every
// call in it, over a single answer that it cannot read, and a call that must not be repeated must
// not be lost to another one.
type session struct {
	*mcp.ClientSession
	key    string
	listed bool                     // the SDK knows the server's own schemas
	call   atomic.Pointer[listener] // the current call; a late sign of life may arrive
}

// listener receives what happens during a call.
type listener struct {
	patience *remote.Patience
	progress func(engine.Progress)
}

// modern reports whether the server speaks the protocol version without sessions, which can request
// input between two requests.
func (s *session) modern() bool {
	init := s.InitializeResult()
	return init != nil && init.ProtocolVersion >= "2026-07-28"
}

// connect begins a session. It asks for the server's capabilities and calls none of its tools.
func (t *Tools) connect(ctx context.Context, l link) (*session, error) {
	s := &session{key: l.key()}
	client := mcp.NewClient(&mcp.Implementation{Name: "dormouse", Version: orUnknown(t.o.Version)}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		// the call waits, not this process
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		// Servers of older versions request input during the call, when no one can be
		// waited for.
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if l := s.call.Load(); l != nil {
				l.patience.Renew()
				l.progress(engine.Progress{Done: r.Params.Progress, Total: r.Params.Total, Text: r.Params.Message})
			}
		},
	})
	client.AddReceivingMiddleware(unharmed)
	connected, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: l.server.URL, HTTPClient: t.client(l),
		DisableStandaloneSSE: true, MaxRetries: -1, MaxEventSize: mostRead}, nil)
	if err != nil {
		return nil, err
	}
	s.ClientSession = connected
	return s, nil
}

// unharmed keeps unsolicited messages of a server from ending this process: the SDK panics over
// some of them, for example over a request for input without parameters, in a goroutine whose
// panics cannot be caught elsewhere.
func unharmed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if recover() != nil {
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request is invalid"}
			}
		}()
		return next(ctx, method, r)
	}
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// pool keeps idle sessions. The zero value is empty.
type pool struct {
	mu   sync.Mutex
	idle []*session // the most recently used one is last
}

// mostIdle limits the idle sessions. None of them holds a connection.
const mostIdle = 16

// take returns an idle session with the key, or nil.
func (p *pool) take(key string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if s := p.idle[i]; s.key == key {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return s
		}
	}
	return nil
}

// put keeps a session for the next call. It drops the least recently used one if there are too
// many.
func (p *pool) put(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
	if len(p.idle) > mostIdle {
		drop(p.idle[0])
		p.idle = p.idle[1:]
	}
}

func (p *pool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		drop(s)
	}
	p.idle = nil
}

// drop ends a session in the background, because the server may respond slowly.
func drop(s *session) { go func() { _ = s.Close() }() }
