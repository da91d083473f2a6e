package a2atool

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const token = "token-that-must-stay-secret"

// request is one as the server got it.
type request struct {
	header http.Header
	path   string
	body   string
	method string // of JSON-RPC; card for the card
}

// world is one agent on the loopback, served by the server of the SDK, and the adapter that calls
// it.
type world struct {
	t     *testing.T
	clock *enginetest.Clock
	http  *httptest.Server
	card  *a2a.AgentCard
	def   agent.A2A
	act   act
	rpc   http.Handler // the agent, without what a test puts before it
	log   strings.Builder
	over  chan struct{} // ends what the agent works on

	idle atomic.Int64 // connections that were kept for a next request

	mu    sync.Mutex
	got   []request
	front front
}

// act is what an agent does with a message.
type act func(ctx context.Context, x *a2asrv.ExecutorContext, say func(a2a.Event) bool)

// front is in front of an agent. It returns true if it has answered.
type front func(http.ResponseWriter, *http.Request, request) bool

// silent is a sender of push notifications.
type silent struct{}

func (silent) SendPush(context.Context, *a2a.PushConfig, a2a.Event) error { return nil }

// named makes every caller a user whom the server knows: it lists only their tasks.
type named struct {
	a2asrv.PassthroughCallInterceptor
}

func (named) Before(ctx context.Context, c *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	c.User = a2asrv.NewAuthenticatedUser("dormouse", nil)
	return ctx, nil, nil
}

// newWorld serves an agent. It takes push notifications, if pushes is set.
func newWorld(t *testing.T, do act, pushes bool) *world {
	w := &world{t: t, clock: enginetest.NewClock(time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)), act: do, over: make(chan struct{})}
	o := []a2asrv.RequestHandlerOption{a2asrv.WithCallInterceptors(named{}), a2asrv.WithLogger(slog.New(slog.DiscardHandler))}
	if pushes {
		o = append(o, a2asrv.WithPushNotifications(push.NewInMemoryStore(), silent{}))
	}
	w.rpc = a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(w, o...))
	w.http = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		var message struct{ Method string }
		_ = json.Unmarshal(body, &message)
		at := request{r.Header.Clone(), r.URL.String(), string(body), message.Method}
		if r.Method == http.MethodGet {
			at.method = "card"
		}
		w.mu.Lock()
		w.got = append(w.got, at)
		front := w.front
		w.mu.Unlock()
		switch {
		case front != nil && front(rw, r, at):
		case at.method == "card":
			a2asrv.NewStaticAgentCardHandler(w.card).ServeHTTP(rw, r)
		default:
			w.rpc.ServeHTTP(rw, r)
		}
	}))
	w.http.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateIdle {
			w.idle.Add(1)
		}
	}
	w.http.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that a test breaks
	w.http.Start()
	t.Cleanup(w.http.Close)
	t.Cleanup(func() { close(w.over) })
	w.card = &a2a.AgentCard{Name: "double", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(w.http.URL+"/a2a", a2a.TransportProtocolJSONRPC)},
		Capabilities: a2a.AgentCapabilities{PushNotifications: pushes}}
	w.def = agent.A2A{URL: w.http.URL, Headers: map[string]string{"Authorization": "Bearer {secret:TOKEN}"}}
	return w
}

// Execute implements [a2asrv.AgentExecutor].
func (w *world) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		w.act(ctx, x, func(e a2a.Event) bool { return yield(e, nil) })
	}
}

// Cancel implements [a2asrv.AgentExecutor].
func (w *world) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// task is one in a state.
func task(x a2a.TaskInfoProvider, state a2a.TaskState, said ...*a2a.Part) *a2a.Task {
	t := &a2a.Task{ID: x.TaskInfo().TaskID, ContextID: x.TaskInfo().ContextID, Status: a2a.TaskStatus{State: state}}
	if len(said) > 0 {
		t.Status.Message = a2a.NewMessage(a2a.MessageRoleAgent, said...)
	}
	return t
}

// stays is an agent whose tasks stay in a state.
func (w *world) stays(state a2a.TaskState, said ...*a2a.Part) act {
	return func(ctx context.Context, x *a2asrv.ExecutorContext, say func(a2a.Event) bool) {
		t := task(x, state, said...)
		t.History = []*a2a.Message{x.Message}
		if say(t) && !state.Terminal() {
			select {
			case <-w.over:
			case <-ctx.Done():
			}
		}
	}
}

// completes is an agent that completes each task at once.
func completes(parts ...*a2a.Part) act {
	return func(_ context.Context, x *a2asrv.ExecutorContext, say func(a2a.Event) bool) {
		t := task(x, a2a.TaskStateCompleted)
		if len(parts) > 0 {
			t.Artifacts = []*a2a.Artifact{{ID: "1", Parts: parts}}
		}
		say(t)
	}
}

// between puts something in front of the agent; nil removes it.
func (w *world) between(f front) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.front = f
}

// requests are those of one method, or all.
func (w *world) requests(method string) (found []request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.got {
		if r.method == method || method == "" {
			found = append(found, r)
		}
	}
	return found
}

// peer is the agent as a process that has just begun sees it.
func (w *world) peer() engine.Peer {
	w.t.Helper()
	agents := New(Options{HTTP: func(agent.A2A) *http.Client { return w.http.Client() }, Clock: w.clock, Version: "test",
		Secrets: secrets, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	p, err := agents.Peer(agent.Definition{Name: "desk"}, agent.Tool{Name: "research", Agent: &agent.Callee{A2A: &w.def}})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

var secrets = secret.Environment(func(name string) string {
	return map[string]string{"DORMOUSE_SECRET_TOKEN": token, "DORMOUSE_SECRET_PIN": "9"}[name]
})

// asks is a request of the engine.
func asks() engine.PeerRequest {
	return engine.PeerRequest{Tenant: "t", Thread: "thr", Run: "run_1", Key: "run_1/c1", Context: "ctx_1", Input: "What is the tallest tree?"}
}

// about is a request about a task that was reported.
func about(r peer.Report) engine.PeerRequest {
	q := asks()
	q.Task = r.Task
	return q
}

func (w *world) send(q engine.PeerRequest) peer.Report {
	w.t.Helper()
	r, err := w.peer().Send(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) look(r peer.Report) peer.Report {
	w.t.Helper()
	r, err := w.peer().Look(w.t.Context(), about(r))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// answering answers one method with a body.
func answering(method string, status int, body string) front {
	return func(rw http.ResponseWriter, _ *http.Request, r request) bool {
		if r.method != method {
			return false
		}
		var from struct{ ID json.RawMessage }
		_ = json.Unmarshal([]byte(r.body), &from)
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, strings.ReplaceAll(body, "ID", string(from.ID)))
		return true
	}
}
