package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// An approval that lets the tool run takes no result: a caller who sends one beside a yes meant
// something else.
func TestAnApprovalTakesNoResult(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	for _, result := range []string{`"denied"`, `"no"`, `"false"`, `42`, `[1]`, `{"refunded":true}`, `"later"`, `""`} {
		got := s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"`+sus+`","action":"resume","result":`+result+`}`)
		if got.StatusCode != 400 {
			t.Errorf("%s: %d %s", result, got.StatusCode, got.text)
		}
	}
	now, err := s.client.Run(t.Context(), run.ID)
	if err != nil || len(now.Pending) != 1 || now.Pending[0].Suspension.ID != sus {
		t.Errorf("something was stored: %+v, %v", now, err)
	}
}

// Where the decision is the result, only cancel and error refuse; whatever else is sent is data.
func TestADecisionThatIsTheResult(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	asked := func(id string) frontendtest.Call {
		return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult}
	}
	sus := s.worker.Suspend(run.ID, asked("c1"), asked("c2"))
	_, err := s.client.Decide(t.Context(), run.ID, wire.Decision{Target: sus["c1"], Action: "resume"})
	refusedWith(t, err, 422, "result_required")
	for id, d := range map[string]wire.Decision{
		"c1": {Action: "resume", Result: []byte(`{"status":"cancelled"}`)},
		"c2": {Result: []byte(`{"approved":false}`)},
	} {
		d.Target = sus[id]
		if _, err := s.client.Decide(t.Context(), run.ID, d); err != nil {
			t.Errorf("%s: %v", d.Result, err)
		}
		var stored core.Resume
		head, err := s.worker.Store.Load(t.Context(), "default", run.ThreadID)
		if err != nil || json.Unmarshal(head.Inbox[sus[id]].Value, &stored) != nil || stored.Action != core.ActionResume {
			t.Errorf("%s was stored as %+v, %v", d.Result, stored, err)
		}
	}
}

// A link can say yes or no and carries no result, so it cannot approve a call whose result the
// decision is.
func TestALinkCannotGiveAResult(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult})
	got := s.send("POST", s.makeLink(run.ID, "c1", "anna").Link, `{"action":"resume"}`)
	if got.StatusCode != 422 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
