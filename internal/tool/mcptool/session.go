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

// link is a server, and the headers of the definition as they are sent. Two calls may use one
// session after the other only if all of it is the same, and for the same tenant: a server may have
// bound the session to whoever began it, and may remember in it what was said.
type link struct {
	tenant  string
	server  agent.Server
	headers http.Header
}

// key names what a link is without holding what is in it.
func (l link) key() string {
	return core.Digest(core.Encode(struct {
		Tenant  string
		Server  agent.Server
		Headers http.Header
	}{l.tenant, l.server, l.headers}))
}

// session is a connected client. It carries one call at a time: the SDK ends a session, and every
// call in it, over one answer that it cannot read, and a call that must not be repeated may not be
// lost to a neighbour.
type session struct {
	*mcp.ClientSession
	key    string
	listed bool                     // the SDK knows the server's own schemas
	call   atomic.Pointer[listener] // of the call at hand; a sign of life may come late
}

// listener is what a call learns while it is under way.
type listener struct {
	patience *remote.Patience
	progress func(engine.Progress)
}

// modern says whether the server speaks the protocol that knows no sessions of its own and can ask
// for input between two requests.
func (s *session) modern() bool {
	init := s.InitializeResult()
	return init != nil && init.ProtocolVersion >= "2026-07-28"
}

// connect begins a session. The server is asked what it can do, and none of its tools is called.
func (t *Tools) connect(ctx context.Context, l link) (*session, error) {
	s := &session{key: l.key()}
	client := mcp.NewClient(&mcp.Implementation{Name: "dormouse", Version: orUnknown(t.o.Version)}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		// the call waits, and not this process
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		// Servers of older versions ask while the call is under way, and nobody can be
		// waited for then.
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

// unharmed keeps what a server sends on its own from ending this process: the SDK panics over some
// of it, as over a request for input without parameters, in a goroutine where nobody else could
// catch that.
func unharmed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if recover() != nil {
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request cannot be read"}
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

// pool keeps sessions that no call is using. The zero value is empty.
type pool struct {
	mu   sync.Mutex
	idle []*session // the one used last behind the others
}

// mostIdle bounds the sessions that are kept. None of them holds a connection by itself.
const mostIdle = 16

// take returns a session with the key that nobody else uses, or nil.
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

// put keeps a session for the next call; the one that was not used for longest makes room.
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

// drop ends a session. A server may take its time to be told, and nobody waits for that.
func drop(s *session) { go func() { _ = s.Close() }() }
