package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// Whoever reads an answer as text sees &, < and > as they are, and so does the program that sends
// the answer on.
func TestAnswersAreNotEscapedForHTML(t *testing.T) {
	const text = "Tom & <b>Ann</b>"
	s := newServer(t, settings{})
	started := s.send("POST", "/v1/runs", `{"agent":"desk","input":"`+text+`","metadata":{"q":"`+text+`"}}`)
	var run struct{ ID, Thread_ID string }
	if err := json.Unmarshal([]byte(started.text), &run); err != nil {
		t.Fatalf("%v in %s", err, started.text)
	}
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: json.RawMessage(`{"to":"` + text + `"}`)})["c1"]
	for _, path := range []string{"/v1/runs/" + run.ID, "/v1/runs", "/v1/approvals", "/v1/threads/" + run.Thread_ID + "/messages", "/v1/runs/" + run.ID + "/events"} {
		if got := s.send("GET", path, "").text; !strings.Contains(got, text) || strings.Contains(got, `\u003c`) || strings.Contains(got, `\u0026`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"`+sus+`","action":"resume","reason":"`+text+`","arguments":{"to":"`+text+`"}}`)
	s.worker.Finish(run.ID, text)
	if got := s.send("GET", "/v1/runs/"+run.ID+"/events", "").text; strings.Contains(got, `\u003c`) || strings.Contains(got, `\u0026`) {
		t.Errorf("events after the decision: %s", got)
	}
	if got := s.send("GET", "/v1/runs/run_%3C%26%3E_1", "").text; strings.Contains(got, `\u003c`) {
		t.Errorf("problem: %s", got)
	}
}
