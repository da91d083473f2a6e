package local

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// fickle is an endpoint that breaks every connection while it is down. Its model pays once, and
// says so.
func fickle(t *testing.T) (agent string, down *atomic.Bool) {
	t.Helper()
	down = &atomic.Bool{}
	model := modeldouble.OpenAI(func(a modeldouble.Asked) modeldouble.Said {
		if last := a.Messages[len(a.Messages)-1]; last.Role == core.RoleTool {
			return modeldouble.Said{Turn: core.Turn{Text: "It says: " + last.Text()}}
		}
		return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"amount":120}`)}}}}
	})
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(endpoint.Close)
	return fmt.Sprintf(`
name: desk
model: {provider: openai, model: any, base_url: "%s/v1"}
tools:
  - {name: pay, description: Pays., go: pay}
permissions:
  ask: [pay]
`, endpoint.URL), down
}

// hearsOutage reads the run's events until the model did not answer, and returns the run as it is
// then.
func (s running) hearsOutage(t *testing.T, id string) wire.Run {
	t.Helper()
	for cursor := ""; ; {
		page, err := s.EventPage(t.Context(), id, client.EventQuery{After: cursor, Wait: 20 * time.Second, Limit: 100})
		if err != nil || page.Done {
			t.Fatalf("the run is done, and its model was not waited for: %v", err)
		}
		cursor = page.Next
		for _, e := range page.Items {
			if e.Type != string(core.EventStepReset) {
				continue
			}
			run, err := s.Run(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
	}
}

func TestAnOutageAfterAnApprovalIsShownAndWaitedOut(t *testing.T) {
	agent, down := fickle(t)
	r, paid := countingRig(t)
	r.deploy(agent)
	s := r.startWith(r.reaching(t, "127.0.0.1"))
	run := s.await(t, s.begin(t).ID, "waiting")
	down.Store(true)
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	got := s.hearsOutage(t, run.ID)
	if got.Status != "running" || got.WaitingOn != "model" || got.Code != "model_unavailable" || !strings.Contains(got.Detail, "endpoint") || got.WaitingSince == nil {
		t.Errorf("while the model is down the run is %+v", got)
	}
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
	down.Store(false)
	got = s.await(t, run.ID, "done")
	if text, _ := got.OutputText(); text != "It says: paid" || got.WaitingOn != "" || paid.Load() != 1 {
		t.Errorf("paid %d times: %+v", paid.Load(), got)
	}
}

func TestACancelEndsARunWhoseModelIsDown(t *testing.T) {
	agent, down := fickle(t)
	down.Store(true)
	r, _ := countingRig(t)
	r.deploy(agent)
	s := r.startWith(r.reaching(t, "127.0.0.1"))
	run := s.hearsOutage(t, s.begin(t).ID)
	if _, err := s.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.await(t, run.ID, "done"); *got.Reason != "cancelled" || got.WaitingOn != "" {
		t.Errorf("%+v", got)
	}
}
