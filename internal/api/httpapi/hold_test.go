package httpapi_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func TestADecisionIsHeldAndWithdrawnOverHTTP(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("b")
	sus := s.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "c3", Tool: "refund", Kind: core.KindApproval})
	one, decisions := "/v1/suspensions/"+sus["c1"], "/v1/runs/"+run+"/decisions"
	held := s.send("POST", one, `{"decision_id":"d1","action":"resume","hold":60}`, bearer("a"))
	if answer := decoded[wire.DecisionAnswer](t, held.text); held.StatusCode != 202 || answer.AppliesAt == nil {
		t.Fatalf("it is held as %d %s", held.StatusCode, held.text)
	}
	if became := decoded[wire.Outcome](t, s.send("GET", one, "", bearer("b")).text); became.State != "answered" || became.AppliesAt == nil {
		t.Errorf("it is shown as %+v", became)
	}
	for _, step := range []struct {
		token, method, path, body string
		status                    int
		code                      string
	}{
		{"a", "POST", one, `{"action":"resume","hold":61}`, 400, "invalid_request"},
		// the document's largest integer and its smallest are read, wherever one stands
		{"a", "POST", decisions, `{"target":"c2","action":"resume","hold":9007199254740991}`, 400, "invalid_request"},
		{"a", "POST", decisions, `{"target":"c2","action":"resume","hold":-9007199254740991}`, 400, "invalid_request"},
		{"a", "POST", one, `{"decision_id":"d1","action":"resume"}`, 200, "already_decided"},
		{"b", "POST", one, `{"action":"cancel"}`, 409, "already_decided"},
		// the same answer of another person would be gone with the one that is held
		{"b", "POST", one, `{"decision_id":"d1","action":"resume"}`, 409, "already_decided"},
		{"b", "DELETE", one + "/decisions/d1", "", 403, "not_your_decision"},
		{"a", "DELETE", one + "/decisions/d2", "", 404, "decision_not_found"},
		{"a", "DELETE", "/v1/suspensions/sus_1_x_y/decisions/d1", "", 404, "call_not_found"},
		{"a", "DELETE", one + "/decisions/d1", "", 200, "withdrawn"},
		{"a", "DELETE", one + "/decisions/d1", "", 200, "withdrawn"},
		{"a", "POST", one, `{"decision_id":"d1","action":"resume"}`, 409, "decision_withdrawn"},
		{"a", "POST", decisions, `{"target":"c1","decision_id":"d1","action":"cancel"}`, 409, "decision_withdrawn"},
		// until the withdrawal is journaled
		{"a", "POST", one, `{"decision_id":"d3","action":"resume","hold":5}`, 409, "hold_unavailable"},
		{"a", "POST", decisions, `{"target":"c1","decision_id":"d3","action":"resume","hold":5}`, 409, "hold_unavailable"},
		{"a", "POST", decisions, `{"target":"c2","decision_id":"d4","action":"resume"}`, 202, "accepted"},
		{"a", "DELETE", "/v1/suspensions/" + sus["c2"] + "/decisions/d4", "", 409, "decision_applied"},
		{"a", "POST", decisions, `{"target":"c3","decision_id":"d5","action":"resume","hold":60}`, 202, "accepted"},
	} {
		got := s.send(step.method, step.path, step.body, bearer(step.token))
		if got.StatusCode != step.status || got.code() != step.code {
			t.Errorf("%s %s %s: got %d %s, want %d %s", step.method, step.path, step.body, got.StatusCode, got.text, step.status, step.code)
		}
	}
}

// A hold that is over can be withdrawn until a worker takes the decision up. Until then, another
// person's equal answer would be withdrawn with it.
func TestAnEqualAnswerIsNoRepeatOfOneThatCanBeWithdrawn(t *testing.T) {
	s := dutiful(t)
	sus := s.worker.Suspend(s.startWith("b"), frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	one := "/v1/suspensions/" + sus["c1"]
	s.send("POST", one, `{"decision_id":"d1","action":"resume","hold":10}`, bearer("a"))
	s.worker.Clock.AfterFunc(11*time.Second, func() {})
	for _, step := range []struct {
		token, method, path, body string
		status                    int
		code                      string
	}{
		{"b", "POST", one, `{"decision_id":"d1","action":"resume"}`, 409, "already_decided"},
		{"a", "POST", one, `{"decision_id":"d1","action":"resume"}`, 200, "already_decided"},
		{"a", "DELETE", one + "/decisions/d1", "", 200, "withdrawn"},
		{"b", "POST", one, `{"decision_id":"d1","action":"resume"}`, 409, "decision_withdrawn"},
	} {
		got := s.send(step.method, step.path, step.body, bearer(step.token))
		if got.StatusCode != step.status || got.code() != step.code {
			t.Errorf("%s %s: got %d %s, want %d %s", step.method, step.path, got.StatusCode, got.text, step.status, step.code)
		}
	}
}
