package httpapi_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// dutiful is a server whose tokens boss, shop and anna may do everything but what an agent's lists
// and rules say.
func dutiful(t *testing.T, starters ...string) *server {
	all := []access.Role{access.Start, access.Read, access.Decide}
	s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) { withLinks(o); o.Codes = new(mailbox).send },
		grants: []access.Grant{grant("boss", "default", "b", all...), grant("shop", "default", "s", all...), grant("anna", "default", "a", all...)},
		front: func(o *frontend.Options) {
			o.Starters = func(context.Context, engine.Definition) ([]string, error) { return starters, nil }
		}})
	s.worker.Who = true
	return s
}

func (s *server) startWith(token string) (run string) {
	s.t.Helper()
	var started wire.Run
	got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"pay A 120"}`, bearer(token))
	if err := json.Unmarshal([]byte(got.text), &started); err != nil || got.StatusCode != 202 {
		s.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	return started.ID
}

// code is that of a problem or of the answer to a decision.
func (a answer) code() string {
	var said struct{ Code string }
	_ = json.Unmarshal([]byte(a.text), &said)
	return said.Code
}

func TestAStarterIsNotAnApproverOverHTTP(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("b")
	sus := s.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter},
		frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, Approvers: []string{"token:anna"}})
	for _, tt := range []struct {
		token, call, code string
		status            int
	}{
		{"b", "c1", "separation_of_duties", 403},
		{"b", "c2", "not_an_approver", 403},
		{"s", "c2", "not_an_approver", 403},
		{"a", "c1", "accepted", 202},
		{"a", "c2", "accepted", 202},
	} {
		got := s.send("POST", "/v1/runs/"+run+"/decisions", `{"target":"`+sus[tt.call]+`","action":"resume"}`, bearer(tt.token))
		if got.StatusCode != tt.status || got.code() != tt.code {
			t.Errorf("%s on %s: %d %s", tt.token, tt.call, got.StatusCode, got.text)
		}
	}
}

func TestOnlyStartersStartAndSpeak(t *testing.T) {
	s := dutiful(t, "token:shop")
	run := s.startWith("s")
	thread, _ := core.ThreadOf(run)
	for path, body := range map[string]string{
		"/v1/runs":                            `{"agent":"desk","input":"hello"}`,
		"/v1/threads/" + thread + "/messages": `{"input":"hello"}`,
	} {
		if got := s.send("POST", path, body, bearer("b")); got.StatusCode != 403 || got.code() != "not_a_starter" {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
	s.worker.End(run, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	if got := s.send("POST", "/v1/runs/"+run+"/retry", "", bearer("b")); got.StatusCode != 403 || got.code() != "not_a_starter" {
		t.Errorf("a retry: %d %s", got.StatusCode, got.text)
	}
}

// A link is no way around the lists and rules that bind who made it: neither when it is made nor
// when it is answered.
func TestALinkIsBoundByWhatBindsItsMaker(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("b")
	s.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter},
		frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, Approvers: []string{"token:anna"}})
	order := func(call, require string) answer {
		return s.send("POST", "/v1/runs/"+run+"/links", string(core.Encode(wire.LinkRequest{Target: call, For: "kim@example.com", Require: require})), bearer("secret"))
	}
	link := s.makeLink(run, "c1", "anna").Link
	thread, _ := core.ThreadOf(run)
	if got := s.send("POST", "/v1/threads/"+thread+"/messages", `{"input":"pay B 900","on_pending":"queue"}`, bearer("secret")); got.StatusCode != 202 {
		t.Fatal(got.text)
	}
	for call, code := range map[string]string{"c1": "separation_of_duties", "c2": "not_an_approver"} {
		if got := order(call, ""); got.StatusCode != 403 || got.code() != code || !strings.Contains(got.text, "could only deny") {
			t.Errorf("a link to %s: %d %s", call, got.StatusCode, got.text)
		}
		if got := order(call, engine.RequireCode); got.StatusCode != 403 || got.code() != code || !strings.Contains(got.text, "could only deny") {
			t.Errorf("a link with a code to %s: %d %s", call, got.StatusCode, got.text)
		}
		if got := order(call, engine.RequireToken); got.StatusCode != 201 {
			t.Errorf("a link with a token to %s: %d %s", call, got.StatusCode, got.text)
		}
	}
	if page := s.send("GET", link+"?answer=approve", "", asPage).text; strings.Contains(page, ">Approve</button>") || strings.Contains(page, "#yes") ||
		!strings.Contains(page, "This link can only deny:") || !strings.Contains(page, ">Deny</button>") {
		t.Errorf("the page offers to approve: %s", page)
	}
	if got := s.send("POST", link, `{"action":"resume"}`); got.StatusCode != 403 || got.code() != "separation_of_duties" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	page := s.postForm(link, url.Values{"action": {"resume"}, "shown": {shownOn(t, s.page(link))}})
	if page.StatusCode != 403 || !strings.Contains(page.text, "Nothing was stored: ") || !strings.Contains(page.text, ">Deny</button>") {
		t.Errorf("the page does not offer to deny: %d %s", page.StatusCode, page.text)
	}
	if got := s.send("POST", link, `{"action":"cancel"}`); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
