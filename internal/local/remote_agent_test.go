package local

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// critic is an agent that speaks A2A, on the server of the official SDK. It demands a key, and
// works on each task until it may go on.
type critic struct {
	*httptest.Server
	taken   chan string // what the messages said
	goOn    chan struct{}
	stopped chan struct{}

	mu   sync.Mutex
	sent int // messages that arrived
}

func newCritic(t *testing.T, key string) *critic {
	t.Helper()
	v := &critic{taken: make(chan string, 10), goOn: make(chan struct{}), stopped: make(chan struct{}, 10)}
	rpc := a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(v, a2asrv.WithLogger(slog.New(slog.DiscardHandler))))
	var card http.Handler
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet:
			card.ServeHTTP(w, r)
		default:
			rpc.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(v.Close)
	card = a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{Name: "critic",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(v.URL+"/rpc", a2a.TransportProtocolJSONRPC)}})
	return v
}

// Execute implements [a2asrv.AgentExecutor].
func (v *critic) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		v.mu.Lock()
		v.sent++
		v.mu.Unlock()
		task := a2a.NewSubmittedTask(x, x.Message)
		task.Status.State = a2a.TaskStateWorking
		if !yield(task, nil) {
			return
		}
		v.taken <- x.Message.Parts[0].Text()
		select {
		case <-v.goOn:
		case <-ctx.Done():
			return
		}
		_ = yield(a2a.NewArtifactEvent(x, a2a.NewDataPart(map[string]any{"stars": 4})), nil) &&
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

// Cancel implements [a2asrv.AgentExecutor].
func (v *critic) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		v.stopped <- struct{}{}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// reviewed is an agent that has its work reviewed elsewhere.
func (r *rig) reviewed(t *testing.T, v *critic, key string) Options {
	t.Helper()
	r.deploy(`name: desk
model:
  provider: scripted
  turns:
    - {given: {no_result: true}, calls: [{tool: review, arguments: {text: "Is it good?"}}]}
    - {given: {tool: review}, say: Reviewed.}
tools:
  - {name: review, description: Has a text reviewed., a2a: {url: "` + v.URL + `", headers: {Authorization: "Bearer {secret:REVIEW}"}, allow_private: true}, input: "Please review: {text}"}
permissions: {allow: [review]}
`)
	o := r.reaching(t, strings.TrimPrefix(v.URL, "http://"))
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if name == "REVIEW" {
			return key, nil
		}
		return "", secret.ErrNotSet
	}
	return o
}

// TestARemoteAgentWorksOnWhileTheServerIsDown: the task is sent once, the server that waits for it
// stops, and the next one has the result.
func TestARemoteAgentWorksOnWhileTheServerIsDown(t *testing.T) {
	const key = "the-key-of-the-critic"
	v := newCritic(t, key)
	r, _ := countingRig(t)
	o := r.reviewed(t, v, key)
	s := r.startWith(o)
	run := s.begin(t)
	if said := <-v.taken; said != "Please review: Is it good?" {
		t.Errorf("the task is %q", said)
	}
	below := s.below(t, run.ID)
	s.end(t)
	close(v.goOn)
	s = r.startWith(o)
	run = s.await(t, run.ID, "done")
	if string(run.Output) != `"Reviewed."` {
		t.Errorf("the output is %s, %+v", run.Output, run)
	}
	child, err := s.Run(t.Context(), below)
	if err != nil || string(child.Output) != `{"stars":4}` {
		t.Errorf("the output of the child is %s, %v", child.Output, err)
	}
	if calls := s.calls(t, run.ID); len(calls) != 1 || !strings.Contains(calls[0], `{\"stars\":4}`) {
		t.Errorf("the calls are %s", calls)
	}
	s.end(t)
	if v.sent != 1 {
		t.Errorf("%d messages arrived", v.sent)
	}
	for _, kept := range append(everyFile(t, r.data), r.log.all.String()) {
		if strings.Contains(kept, key) {
			t.Error("the key is in what the server keeps")
		}
	}
}

// TestACancelStopsARemoteAgent: the cancel of the run arrives there.
func TestACancelStopsARemoteAgent(t *testing.T) {
	v := newCritic(t, "key")
	defer close(v.goOn)
	r, _ := countingRig(t)
	s := r.startWith(r.reviewed(t, v, "key"))
	run := s.begin(t)
	<-v.taken
	below := s.below(t, run.ID)
	if _, err := s.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	<-v.stopped
	run = s.await(t, run.ID, "done")
	if run.Reason == nil || *run.Reason != client.ReasonCancelled {
		t.Errorf("the run ended as %+v", run)
	}
	child := s.await(t, below, "done")
	events, err := s.EventPage(t.Context(), child.ID, client.EventQuery{})
	if err != nil || !strings.Contains(string(core.Encode(events)), `"stopped"`) {
		t.Errorf("the events of the child are %s, %v", core.Encode(events), err)
	}
}

// TestARemoteAgentThatRefusesTheKeyFailsTheCall (HK5).
func TestARemoteAgentThatRefusesTheKeyFailsTheCall(t *testing.T) {
	v := newCritic(t, "another key")
	r, _ := countingRig(t)
	s := r.startWith(r.reviewed(t, v, "key"))
	run := s.await(t, s.begin(t).ID, "done")
	if calls := s.calls(t, run.ID); len(calls) != 1 || !strings.Contains(calls[0], `"child_failed"`) || !strings.Contains(calls[0], "remote_refused") {
		t.Errorf("the calls are %s", calls)
	}
}

// below is the run that works for the only open call of a run.
func (s running) below(t *testing.T, run string) string {
	t.Helper()
	got, err := s.Run(t.Context(), run)
	if err != nil || len(got.Children) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	return got.Children[0].RunID
}

// calls are the calls of a run, as JSON.
func (s running) calls(t *testing.T, run string) (all []string) {
	t.Helper()
	for call, err := range s.Calls(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(core.Encode(call)))
	}
	return all
}
