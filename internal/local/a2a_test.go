package local

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

// reviewer is an agent over A2A that demands a key. It finishes each task at once, and tells the
// key it was called with.
type reviewer struct{ key string }

// Execute implements [a2asrv.AgentExecutor].
func (r reviewer) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		said := ""
		for _, p := range x.Message.Parts {
			said += p.Text()
		}
		yield(&a2a.Task{ID: x.TaskID, ContextID: x.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
			Artifacts: []*a2a.Artifact{{ID: "a1", Parts: a2a.ContentParts{a2a.NewTextPart("read " + said + " with " + r.key)}}}}, nil)
	}
}

// Cancel implements [a2asrv.AgentExecutor].
func (reviewer) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// listen serves the reviewer. asked counts the requests that it got.
func (r reviewer) listen(t *testing.T) (server *httptest.Server, asked *atomic.Int64) {
	t.Helper()
	rpc := a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(r, a2asrv.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))))
	asked = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		switch {
		case req.Header.Get("Authorization") != "Bearer "+r.key:
			w.WriteHeader(http.StatusUnauthorized)
		case req.Method == http.MethodGet:
			a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{Name: "reviewer",
				SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL+"/a2a", a2a.TransportProtocolJSONRPC)}}).ServeHTTP(w, req)
		default:
			rpc.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)
	return server, asked
}

// editor has a draft reviewed elsewhere, and says what came of it.
func editor(url string) string {
	return `name: desk
model:
  provider: scripted
  turns:
    - {given: {no_result: true}, calls: [{tool: review, arguments: {draft: A-1}}]}
    - {given: {result: "(?P<all>.*)"}, say: "It says: ${all}"}
tools: [{name: review, a2a: {url: "` + url + `", headers: {Authorization: "Bearer {secret:REVIEWS}"}, allow_private: true}, input: "the draft {draft}"}]
permissions: {allow: [review]}
`
}

func knowing(key string) secret.Source {
	return func(_ context.Context, name string) (string, error) {
		if name == "REVIEWS" {
			return key, nil
		}
		return "", secret.ErrNotSet
	}
}

// TestAnAgentElsewhereIsGivenATaskWithTheSecretOfTheProcess, which is then found nowhere in what
// it keeps.
func TestAnAgentElsewhereIsGivenATaskWithTheSecretOfTheProcess(t *testing.T) {
	const key = "the-key-of-the-reviews"
	server, _ := reviewer{key}.listen(t)
	r, _ := countingRig(t)
	r.deploy(editor(server.URL))
	o := r.reaching(t, strings.TrimPrefix(server.URL, "http://"))
	o.Secrets = knowing(key)
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "done")
	if out := string(run.Output); !strings.Contains(out, "It says: read the draft A-1 with [secret REVIEWS]") {
		t.Errorf("the output is %s", out)
	}
	s.end(t)
	for _, kept := range append(everyFile(t, r.data), r.log.all.String()) {
		if strings.Contains(kept, key) {
			t.Error("a secret is in what the server keeps")
		}
	}
}

// TestAnAgentElsewhereThatTheOperatorDoesNotAllowIsNotReached: an agent file alone opens no service
// inside the network.
func TestAnAgentElsewhereThatTheOperatorDoesNotAllowIsNotReached(t *testing.T) {
	const key = "the-key-of-the-reviews"
	server, asked := reviewer{key}.listen(t)
	r, _ := countingRig(t)
	r.deploy(editor(server.URL))
	o := r.options()
	o.Secrets, o.Strict = knowing(key), true
	if s, err := Start(t.Context(), o); err == nil {
		t.Fatalf("served at %s", s.Addr())
	} else if want := "agent desk: tool review sets allow_private, but the operator does not allow " + strings.TrimPrefix(server.URL, "http://"); !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it was asked %d times", n)
	}
}
