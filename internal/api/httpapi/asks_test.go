package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

const deploy = `{"title":"Deploy 4.2 to production?","arguments":{"version":"4.2"}}`

func (a answer) ask(t *testing.T) (asked wire.Ask) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), &asked); err != nil || asked.ID == "" {
		t.Fatalf("%d %s", a.StatusCode, a.text)
	}
	return asked
}

func TestAsksOverHTTP(t *testing.T) {
	s := newServer(t, settings{front: func(o *frontend.Options) {
		o.Check = func(_ context.Context, _ engine.Pin, call core.ToolCall) (string, error) {
			if strings.Contains(string(call.Arguments), "forbidden") {
				return "", errors.New("a rule forbids the call with these arguments")
			}
			return "", nil
		}
	}})
	key := header("Idempotency-Key", "release")
	first := s.send("POST", "/v1/asks", deploy, key)
	id := first.ask(t).ID
	if first.StatusCode != 202 || first.Header.Get("Location") != "/v1/asks/"+id {
		t.Errorf("%d, Location %q", first.StatusCode, first.Header.Get("Location"))
	}
	if again := s.send("POST", "/v1/asks", deploy, key); again.StatusCode != 200 || again.ask(t).ID != id {
		t.Errorf("the same again: %d %s", again.StatusCode, again.text)
	}
	s.posts(posted{"/v1/asks", `{"title":"Deploy 4.3?"}`, "release", 422, "idempotency_mismatch"},
		posted{"/v1/asks", `{"title":" "}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"` + strings.Repeat("é", 501) + `"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"a\nb"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","approvers":[]}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","approvers":["anna"]}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","not_by":"anna"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","deadline":"366d"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","deadline":"soon"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","deadline":"+7d"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","deadline":"65536d"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","deadline":"-1h"}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","arguments":[1]}`, "", 422, "invalid_arguments"},
		posted{"/v1/asks", `{"title":"x","arguments":{"a":"forbidden"}}`, "", 422, "invalid_arguments"},
		posted{"/v1/asks", `{"title":"x","metadata":1}`, "", 400, "invalid_request"},
		posted{"/v1/asks", `{"title":"x","callback":{"url":"https://ci.example.com/","secret":"PAGER"}}`, "", 400, "invalid_request"},
		posted{"/v1/runs", `{"agent":"dormouse-ask","input":"x"}`, "", 400, "invalid_request"})
	if got := s.send("GET", "/v1/asks/"+id, "", header("Prefer", "wait=1")).ask(t); got.Status != wire.AskWaiting || got.Title != "Deploy 4.2 to production?" {
		t.Errorf("%+v", got)
	}
	if got := s.send("GET", "/v1/asks/"+s.start().ID, ""); got.code() != "run_not_found" {
		t.Errorf("a run of another agent: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", "/v1/asks/"+id+"/cancel", ""); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	over := s.send("POST", "/v1/asks", deploy).ask(t).ID
	s.worker.Finish(over, "Approved.")
	s.posts(posted{"/v1/asks/" + over + "/cancel", "", "", 409, "run_done"})
}

func TestADecisionOnAnAskHasItsTitle(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("admin", "default", "admin", access.Admin), grant("desk", "default", "desk", access.Decide)}})
	id := s.send("POST", "/v1/asks", deploy, bearer("admin")).ask(t).ID
	sus := s.worker.Suspend(id, frontendtest.Call{ID: "ask", Tool: "ask", Kind: core.KindApproval})["ask"]
	if got := s.send("POST", "/v1/runs/"+id+"/decisions", `{"target":"`+sus+`","action":"resume"}`, bearer("admin")); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	s.worker.Drain(id)
	for token, want := range map[string]string{"admin": "Deploy 4.2 to production?", "desk": ""} {
		got := s.send("GET", "/v1/decisions", "", bearer(token))
		var page wire.DecisionPage
		if err := json.Unmarshal([]byte(got.text), &page); err != nil || len(page.Items) != 1 || page.Items[0].Title != want {
			t.Errorf("%s: %d %s", token, got.StatusCode, got.text)
		}
	}
}

func TestAStarterReadsOnlyItsOwnAsks(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("ci", "default", "ci", access.Start), grant("bot", "default", "bot", access.Start),
		grant("reader", "default", "reader", access.Read), grant("else", "other", "else", access.Admin)}})
	id := s.send("POST", "/v1/asks", deploy, bearer("ci")).ask(t).ID
	for token, status := range map[string]int{"ci": 200, "reader": 200, "bot": 404, "else": 404} {
		if got := s.send("GET", "/v1/asks/"+id, "", bearer(token)); got.StatusCode != status {
			t.Errorf("%s: %d %s", token, got.StatusCode, got.text)
		}
	}
	for token, status := range map[string]int{"bot": 404, "ci": 202} {
		if got := s.send("POST", "/v1/asks/"+id+"/cancel", "", bearer(token)); got.StatusCode != status {
			t.Errorf("%s cancels: %d %s", token, got.StatusCode, got.text)
		}
	}
}
