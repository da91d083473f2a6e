package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// posted is a request and how it is answered.
type posted struct {
	path, body, key string
	status          int
	code            string // of a refusal
}

func (s *server) posts(all ...posted) {
	s.t.Helper()
	for _, p := range all {
		got := s.send("POST", p.path, p.body, header("Idempotency-Key", p.key))
		if got.StatusCode != p.status || !strings.Contains(got.text, `"code":"`+p.code) && p.code != "" {
			s.t.Errorf("%s %s: got %d %s, want %d %s", p.path, p.body, got.StatusCode, got.text, p.status, p.code)
		}
	}
}

func TestWhatAnOpenRunSaysToMore(t *testing.T) {
	s := newServer(t, settings{front: func(o *frontend.Options) { o.Limits.Messages = 3 }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	messages := "/v1/threads/" + run.ThreadID + "/messages"
	start := fmt.Sprintf(`{"agent":"desk","input":"more","thread_id":%q`, run.ThreadID)
	s.posts(
		posted{messages, `{"input":"x"}`, "", 409, "run_open"},
		posted{"/v1/runs", start + `}`, "", 409, "run_open"},
		posted{messages, `{"input":"x","on_pending":"queue"}`, "m1", 202, ""},
		posted{messages, `{"input":"x","on_pending":"queue"}`, "m1", 200, ""},
		posted{messages, `{"input":"y","on_pending":"queue"}`, "m1", 422, "idempotency_mismatch"},
		posted{messages, `{"input":"x","on_pending":"queue"}`, "", 202, ""},
		posted{"/v1/runs", start + `,"on_pending":"queue"}`, "", 202, ""},
		posted{messages, `{"input":"x","on_pending":"queue"}`, "", 429, "inbox_full"},
		posted{"/v1/runs", start + `,"on_pending":"abandon"}`, "", 429, "inbox_full"},
	)
}

// fickle is a catalog whose agents can be taken away.
type fickle struct {
	frontend.Catalog
	gone atomic.Bool
}

func (f *fickle) Current(ctx context.Context, tenant, name string) (engine.Definition, error) {
	if f.gone.Load() {
		return engine.Definition{}, engine.ErrNotFound
	}
	return f.Catalog.Current(ctx, tenant, name)
}

func TestAConversationWhoseAgentIsGone(t *testing.T) {
	catalog := &fickle{Catalog: frontendtest.NewCatalog("desk")}
	s := newServer(t, settings{catalog: catalog})
	run := s.start()
	s.worker.End(run.ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	catalog.gone.Store(true)
	s.posts(posted{"/v1/threads/" + run.ThreadID + "/messages", `{"input":"x"}`, "", 404, "agent_not_found"},
		posted{"/v1/runs/" + run.ID + "/retry", "", "", 404, "agent_not_found"})
}

func TestAnAgentThatCannotBeServedIsListedAndNotStarted(t *testing.T) {
	missing := map[string]string{}
	s := newServer(t, settings{front: func(o *frontend.Options) {
		o.Unavailable = func() map[string]string { return maps.Clone(missing) }
	}})
	run, asleep := s.start(), s.start()
	s.worker.End(run.ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	missing["desk"], missing["never"] = "the secret TOKEN is not set", "its file never.yaml has 1 problem(s)"
	s.posts(posted{"/v1/runs", `{"agent":"desk","input":"x"}`, "", 503, "agent_unavailable"},
		posted{"/v1/runs", `{"agent":"never","input":"x"}`, "", 503, "agent_unavailable"},
		posted{"/v1/threads/" + run.ThreadID + "/messages", `{"input":"x"}`, "", 503, "agent_unavailable"},
		posted{"/v1/runs/" + run.ID + "/retry", "", "", 503, "agent_unavailable"},
		posted{"/v1/runs/" + asleep.ID + "/cancel", "", "", 202, ""})
	for path, want := range map[string]string{"/v1/agents": "TOKEN is not set", "/v1/agents/desk": "TOKEN is not set", "/v1/agents/never": "never.yaml"} {
		if got := s.send("GET", path, ""); got.StatusCode != 200 || !strings.Contains(got.text, want) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestWhatStartsIsPaced(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Limits.StartsPerSecond = 0.1 }})
	run := s.start()
	s.posts(posted{"/v1/runs", `{"agent":"desk","input":"x"}`, "", 429, "rate_limited"},
		posted{"/v1/asks", `{"title":"x"}`, "", 429, "rate_limited"},
		posted{"/v1/threads/" + run.ThreadID + "/messages", `{"input":"x"}`, "", 429, "rate_limited"},
		posted{"/v1/runs/" + run.ID + "/interrupt", "", "", 429, "rate_limited"},
		posted{"/v1/runs/" + run.ID + "/retry", "", "", 429, "rate_limited"})
}

func TestWhatDecidesIsPaced(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Limits.Rates = bounds.Rates{pace.Decisions: pace.PerSecond(0.3, 0)} }})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval})
	path, other := "/v1/runs/"+run.ID+"/decisions", "/v1/suspensions/"+sus["c2"]
	one := `{"target":"c1","action":"resume"}`
	// of three tokens, a request takes one, and one for its other decisions
	s.posts(posted{path, `{"decisions":[` + one + strings.Repeat(","+one, 9) + `]}`, "", 200, ""},
		posted{path, one, "", 200, ""},
		posted{path, `{"target":"c2","action":"resume"}`, "", 429, "rate_limited"},
		posted{path, `{"decisions":[{"target":"c2","action":"resume"}]}`, "", 429, "rate_limited"},
		posted{other, `{"action":"resume"}`, "", 429, "rate_limited"},
		posted{"/v1/runs/" + run.ID + "/resume", "", "", 429, "rate_limited"})
	bulk := `{"action":"resume","questions":[{"suspension":"` + sus["c2"] + `","shown":"as it was"}]}`
	s.posts(posted{"/v1/decisions", bulk, "", 429, "rate_limited"})
	// there are seconds to take a decision back, so no rate is in the way
	if got := s.send("DELETE", other+"/decisions/dec_1", ""); got.StatusCode != 404 || got.code() != "decision_not_found" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("GET", other, ""); got.StatusCode != 200 || !strings.Contains(got.text, `"fingerprint"`) {
		t.Errorf("the call does not wait as before: %d %s", got.StatusCode, got.text)
	}
	s.posts(posted{"/v1/runs/" + run.ID + "/cancel", "", "", 202, ""})
}

func TestARequestWithMoreDecisionsThanFitStoresNone(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Limits.Rates = bounds.Rates{pace.Decisions: pace.PerSecond(0.3, 0)} }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	path, one := "/v1/runs/"+run.ID+"/decisions", `{"target":"c1","action":"resume"}`
	none := `{"target":"none","action":"resume"}`
	s.posts(posted{path, none, "", 404, "call_not_found"}, posted{path, none, "", 404, "call_not_found"},
		posted{path, `{"decisions":[` + one + strings.Repeat(","+one, 2) + `]}`, "", 429, "rate_limited"})
	if got := s.send("GET", "/v1/runs/"+run.ID, ""); !strings.Contains(got.text, `"pending":[{`) {
		t.Errorf("%s", got.text)
	}
}

func TestEachOfSeveralAlikeAnswersIsCounted(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Limits.Rates = bounds.Rates{pace.Decisions: pace.PerSecond(0.3, 0)} }})
	one := `{"suspension":"sus_1_a","shown":"v1:0"}`
	several := one + `,{"suspension":"sus_1_b","shown":"v1:0"},{"suspension":"sus_1_c","shown":"v1:0"}`
	asked := func(questions string) string { return `{"action":"resume","questions":[` + questions + `]}` }
	// of three tokens, the first takes one; the second takes one, and one for its other answers
	s.posts(posted{"/v1/decisions", asked(one), "", 200, ""}, posted{"/v1/decisions", asked(several), "", 200, ""},
		posted{"/v1/decisions", asked(one), "", 429, "rate_limited"})
}

func TestAKeyIsForOneRetry(t *testing.T) {
	s := newServer(t, settings{})
	first, second := s.start(), s.start()
	for _, run := range []wire.Run{first, second} {
		s.worker.End(run.ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	}
	s.posts(posted{"/v1/runs/" + first.ID + "/retry", "", "r1", 202, ""},
		posted{"/v1/runs/" + second.ID + "/retry", "", "r1", 422, "idempotency_mismatch"})
}

func TestDecisionsThatComeToNothing(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	schema := []byte(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`)
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "c2", Tool: "locate", Kind: core.KindClient, Schema: schema},
		frontendtest.Call{ID: "c3", Tool: "refund", Kind: core.KindApproval})
	path := "/v1/runs/" + run.ID + "/decisions"
	s.posts(posted{path, `{"target":"c1"}`, "", 400, "unclear_decision"},
		posted{path, `{"target":"nobody","action":"resume"}`, "", 404, "call_not_found"},
		posted{path, `{"target":"c2","result":{"town":"Rome"}}`, "", 422, "schema_mismatch"})
	s.posts(posted{path, `{"target":"c3","action":"resume"}`, "", 202, ""})
	s.worker.Resuspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.posts(posted{path, `{"target":"` + sus["c1"] + `","action":"resume"}`, "", 409, "stale_suspension"},
		posted{path, `{"target":"c1","action":"resume"}`, "", 409, "suspension_id_required"})
}

func TestAMessageThatDoesNotFitTheQuestion(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask_user", Kind: core.KindInput, Schema: []byte(`{"enum":["red","blue"]}`)})
	path := "/v1/threads/" + run.ThreadID + "/messages"
	s.posts(posted{path, `{"input":"green"}`, "", 422, "schema_mismatch"}, posted{path, `{"input":"blue"}`, "", 202, ""})
}

func TestDecisionsOnWhatDoesNotWait(t *testing.T) {
	s := newServer(t, settings{})
	busy, over := s.start(), s.start()
	s.worker.Ask(busy.ID, frontendtest.Call{ID: "c1", Tool: "refund"})
	s.worker.Suspend(over.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.posts(posted{"/v1/runs/" + busy.ID + "/decisions", `{"target":"c1","action":"resume"}`, "", 409, "not_suspended"},
		posted{"/v1/runs/" + over.ID + "/cancel", "", "", 202, ""})
	s.worker.End(over.ID, core.Reason{Kind: core.Cancelled}, "")
	s.posts(posted{"/v1/runs/" + over.ID + "/decisions", `{"target":"c1","action":"resume"}`, "", 409, "run_done"})
}

func TestListsTakeTheirOwnCursorsOnly(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	for _, path := range []string{"/v1/runs", "/v1/threads/" + run.ThreadID + "/runs", "/v1/threads/" + run.ThreadID + "/messages", "/v1/approvals", "/v1/runs/" + run.ID + "/calls"} {
		if got := s.send("GET", path+"?cursor=x", ""); got.StatusCode != 400 || got.problem(t).Code != "bad_cursor" {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestAStreamThatWasReadToItsEndIsEmpty(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	page, err := s.client.EventPage(t.Context(), run.ID, client.EventQuery{})
	if err != nil || !page.Done {
		t.Fatalf("%+v, %v", page, err)
	}
	if got := s.send("GET", "/v1/runs/"+run.ID+"/events", "", header("Last-Event-ID", page.Next)); got.StatusCode != 204 || got.text != "" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
