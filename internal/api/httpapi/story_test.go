package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// One run over HTTP, by the typed client.
func TestARunFromStartToEnd(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	ctx, c := t.Context(), s.client
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]

	run, err := c.PollRun(ctx, run.ID, time.Second)
	if err != nil || run.Status != "waiting" || len(run.Pending) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	inbox, err := c.ApprovalPage(ctx, client.ApprovalFilter{Agent: "desk"})
	if err != nil || len(inbox.Items) != 1 || inbox.Items[0].Suspension.ID != sus {
		t.Fatalf("approvals %+v, %v", inbox, err)
	}
	answer, err := c.Decide(ctx, run.ID, wire.Decision{Target: sus, Result: json.RawMessage(`"yes"`)})
	if err != nil || answer.Status != 202 || answer.Code != "accepted" {
		t.Fatalf("C127 %+v, %v", answer, err)
	}
	answer, err = c.Decide(ctx, run.ID, wire.Decision{Target: sus, Result: json.RawMessage(`"yes"`)})
	if err != nil || answer.Status != 200 || answer.Same == nil || !*answer.Same {
		t.Errorf("HB5 %+v, %v", answer, err)
	}
	_, err = c.Decide(ctx, run.ID, wire.Decision{Target: sus, Action: "cancel"})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != 409 || refused.Code != "already_decided" || refused.Winner == nil || *refused.Same {
		t.Errorf("C124 %+v", err)
	}

	s.worker.Finish(run.ID, "refunded")
	run, err = c.Run(ctx, run.ID)
	if err != nil || run.Status != "done" || string(run.Output) != `"refunded"` || *run.Reason != "natural_end" || *run.ResponseState != "done" {
		t.Errorf("%+v, %v", run, err)
	}
	if _, err := c.Cancel(ctx, run.ID); !errors.As(err, &refused) || refused.Code != "run_done" {
		t.Errorf("cancel of a finished run: %v", err)
	}
	next, err := c.SendMessage(ctx, run.ThreadID, wire.MessageRequest{Input: json.RawMessage(`"thanks"`)}, "m1")
	if err != nil || next.ThreadID != run.ThreadID || next.ID == run.ID {
		t.Errorf("%+v, %v", next, err)
	}
	if _, err := c.Cancel(ctx, next.ID); err != nil {
		t.Error(err)
	}
	s.reads(run, next)
}

// reads reads everything there is of a thread with two runs.
func (s *server) reads(first, second wire.Run) {
	s.t.Helper()
	ctx, c := s.t.Context(), s.client
	page, err := c.EventPage(ctx, first.ID, client.EventQuery{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Done {
		s.t.Errorf("events %+v, %v", page, err)
	}
	if page, err = c.EventPage(ctx, first.ID, client.EventQuery{After: page.Next, Wait: time.Second, Limit: 100}); err != nil || !page.Done {
		s.t.Errorf("events %+v, %v", page, err)
	}
	messages, err := client.Collect(c.Messages(ctx, first.ThreadID, client.MessageOptions{}))
	if err != nil || len(messages) != 3 || messages[2].Text != "refunded" {
		s.t.Errorf("messages %+v, %v", messages, err)
	}
	thread, err := c.Thread(ctx, first.ThreadID)
	if err != nil || thread.RunID != second.ID {
		s.t.Errorf("thread %+v, %v", thread, err)
	}
	for _, list := range []func() (wire.Page[wire.Run], error){
		func() (wire.Page[wire.Run], error) { return c.RunPage(ctx, client.RunFilter{Agent: "desk", Limit: 10}) },
		func() (wire.Page[wire.Run], error) { return c.ThreadRunPage(ctx, first.ThreadID, client.RunFilter{}) },
	} {
		runs, err := list()
		if err != nil || len(runs.Items) != 2 {
			s.t.Errorf("runs %+v, %v", runs, err)
		}
	}
	agents, err := c.Agents(ctx)
	if err != nil || len(agents) != 1 {
		s.t.Errorf("agents %+v, %v", agents, err)
	}
	if agent, err := c.Agent(ctx, "desk"); err != nil || agent.Version != first.AgentVersion {
		s.t.Errorf("agent %+v, %v", agent, err)
	}
	if health, err := c.Health(ctx); err != nil || health != (wire.Health{Status: "ok", Version: "v1.2.3"}) {
		s.t.Errorf("health %+v, %v", health, err)
	}
}

func TestStartIsAnsweredByStatus(t *testing.T) {
	s := newServer(t, settings{})
	body := `{"agent":"desk","input":[{"type":"text","text":"hi"}],"metadata":{"order":"A-17"}}`
	key := header("Idempotency-Key", "k1")
	first := s.send("POST", "/v1/runs", body, key)
	again := s.send("POST", "/v1/runs", strings.ReplaceAll(body, ",", " , "), key)
	other := s.send("POST", "/v1/runs", `{"agent":"desk","input":"other"}`, key)
	if first.StatusCode != 202 || again.StatusCode != 200 || first.text != again.text || other.StatusCode != 422 {
		t.Errorf("%d %s, then %d %s, then %d", first.StatusCode, first.text, again.StatusCode, again.text, other.StatusCode)
	}
	if got := first.Header.Get("Location"); !strings.HasPrefix(got, "/v1/runs/run_") {
		t.Errorf("Location: %q", got)
	}
	if got := s.send("GET", first.Header.Get("Location"), ""); got.StatusCode != 200 || !strings.Contains(got.text, `"metadata":{"order":"A-17"}`) ||
		!strings.Contains(got.text, `"created_at":"2026-03-01T12:00:00.000Z"`) || !strings.Contains(got.text, `"pending":[]`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestSeveralDecisionsAreAnsweredOneByOne(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "a", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "b", Tool: "refund", Kind: core.KindApproval})
	answers, err := s.client.DecideAll(t.Context(), run.ID, wire.Decisions{Decisions: []wire.Decision{
		{Target: "a", Action: "resume"}, {Target: "nobody", Action: "resume"}, {Target: "b", Result: json.RawMessage(`"hm"`)},
		{Target: "a", Action: "cancel"}, {Target: "b", Action: "cancel"}, {Target: "b", Action: "cancel"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range answers {
		got = append(got, fmt.Sprint(a.Status, " ", a.Code))
	}
	want := []string{"202 accepted", "404 call_not_found", "400 unclear_decision", "409 already_decided", "202 accepted", "200 already_decided"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHundredCallersDecideAtOnce(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	statuses, winners := make([]int, 100), make([]string, 100)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			id := fmt.Sprint("d", i)
			_, err := s.client.Decide(t.Context(), run.ID, wire.Decision{DecisionID: id, Target: sus, Action: "resume"})
			var refused *client.Error
			switch {
			case err == nil:
				statuses[i], winners[i] = http.StatusAccepted, id
			case errors.As(err, &refused) && refused.Winner != nil:
				statuses[i], winners[i] = refused.Status, refused.Winner.DecisionID
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	slices.Sort(winners)
	if statuses[0] != 202 || statuses[1] != 409 || winners[0] != winners[99] {
		t.Errorf("statuses %v, winners %v", statuses, slices.Compact(winners))
	}
}

func TestPreferWait(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	got := s.send("GET", "/v1/runs/"+run.ID, "", header("Prefer", "respond-async, wait=2"))
	if got.StatusCode != 200 || got.Header.Get("Preference-Applied") != "wait" {
		t.Errorf("%d, Preference-Applied %q", got.StatusCode, got.Header.Get("Preference-Applied"))
	}
}
