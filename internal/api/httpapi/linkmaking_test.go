package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// The hole that this closes: a caller who could read the inbox found in it links that approve.
func TestReadingTheInboxHandsOutNoLink(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	for _, path := range []string{"/v1/approvals", "/v1/runs/" + run.ID, "/v1/runs", "/v1/runs/" + run.ID + "/events"} {
		got := s.send("GET", path, "", bearer("secret"), header("Accept", "application/json"))
		if got.StatusCode != 200 || !strings.Contains(got.text, "refund") || strings.Contains(got.text, `/v1/approvals/`) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestOnlyTheRoleLinkMakesListsAndRevokesLinks(t *testing.T) {
	grants := []access.Grant{grant("zoo", "zoo", "admin of another tenant", access.Admin)}
	for _, r := range access.Roles() {
		grants = append(grants, grant(string(r), "default", string(r), r))
	}
	s := newServer(t, settings{token: "secret", options: withLinks, grants: grants})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	made := s.makeLink(run.ID, "c1", "anna@example.com")
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "/v1/runs/" + run.ID + "/links", `{"target":"c1","for":"bob"}`},
		{"GET", "/v1/runs/" + run.ID + "/links", ""},
		{"DELETE", "/v1/runs/" + run.ID + "/links/" + made.ID, ""},
	} {
		for _, who := range []string{"start", "read", "decide"} {
			if got := s.send(tt.method, tt.path, tt.body, bearer(who)); got.StatusCode != 403 || got.problem(t).Code != "role_required" {
				t.Errorf("%s %s by %s: %d %s", tt.method, tt.path, who, got.StatusCode, got.text)
			}
		}
		if got := s.send(tt.method, tt.path, tt.body, bearer("admin of another tenant")); got.StatusCode != 404 || got.problem(t).Code != "run_not_found" {
			t.Errorf("%s %s by another tenant: %d %s", tt.method, tt.path, got.StatusCode, got.text)
		}
		for _, who := range []string{"link", "admin"} {
			if got := s.send(tt.method, tt.path, tt.body, bearer(who)); got.StatusCode/100 != 2 {
				t.Errorf("%s %s by %s: %d %s", tt.method, tt.path, who, got.StatusCode, got.text)
			}
		}
	}
}

func TestALinkIsRecordedForWhomByWhomAndUntilWhen(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks, grants: []access.Grant{grant("mailer", "default", "mail", access.Links)}})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	now := s.worker.Clock.Now()
	got := s.send("POST", "/v1/runs/"+run.ID+"/links", `{"target":"`+sus+`","for":"Anna Bäcker <anna@example.com>","expires_in":3600.0}`, bearer("mail"))
	made := decoded[wire.Link](t, got.text)
	if got.StatusCode != 201 || made.CreatedBy != "token:mailer" || made.For != "Anna Bäcker <anna@example.com>" || made.Suspension != sus || made.Tool != "refund" ||
		made.ExpiresAt.Sub(made.CreatedAt.Time) != time.Hour || made.CreatedAt.Before(now.Truncate(time.Millisecond)) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	list := s.send("GET", "/v1/runs/"+run.ID+"/links", "", bearer("mail"))
	page := decoded[wire.Page[wire.Link]](t, list.text)
	if len(page.Items) != 1 || page.Items[0].ID != made.ID || page.Items[0].For != made.For || page.Items[0].Link != "" || strings.Contains(list.text, "/v1/approvals/") {
		t.Errorf("%s", list.text)
	}
	for range 2 {
		revoked := decoded[wire.Link](t, s.send("DELETE", "/v1/runs/"+run.ID+"/links/"+made.ID, "", bearer("mail")).text)
		if revoked.RevokedAt == nil || revoked.RevokedBy != "token:mailer" || revoked.Link != "" {
			t.Errorf("%+v", revoked)
		}
	}
}

func TestALinkThatCannotBeIsNotMade(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run, ended := s.start(), s.start()
	late := frontendtest.Call{ID: "c3", Tool: "refund", Kind: core.KindApproval, Deadline: 1}
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "locate", Kind: core.KindUnknownOutcome}, late)
	s.worker.Suspend(ended.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.send("POST", "/v1/runs/"+ended.ID+"/cancel", "", bearer("secret"))
	s.worker.End(ended.ID, core.Reason{Kind: core.Cancelled}, "")
	long := strings.Repeat("ä", 121)
	for name, tt := range map[string]struct {
		run, body string
		status    int
		code      string
	}{
		"no recipient":             {run.ID, `{"target":"c1"}`, 400, "invalid_request"},
		"a blank recipient":        {run.ID, `{"target":"c1","for":" "}`, 400, "invalid_request"},
		"a long recipient":         {run.ID, `{"target":"c1","for":"` + long + `"}`, 400, "invalid_request"},
		"hidden characters":        {run.ID, `{"target":"c1","for":"anna\u202e@example.com"}`, 400, "invalid_request"},
		"two lines":                {run.ID, `{"target":"c1","for":"anna\nbob"}`, 400, "invalid_request"},
		"a negative life":          {run.ID, `{"target":"c1","for":"anna","expires_in":-1}`, 400, "invalid_request"},
		"half a second":            {run.ID, `{"target":"c1","for":"anna","expires_in":1.5}`, 400, "invalid_request"},
		"a life beyond the limit":  {run.ID, `{"target":"c1","for":"anna","expires_in":604801}`, 400, "invalid_request"},
		"no target":                {run.ID, `{"for":"anna"}`, 404, "call_not_found"},
		"another target":           {run.ID, `{"target":"sus_1_x","for":"anna"}`, 404, "call_not_found"},
		"another run":              {"run_x_0", `{"target":"c1","for":"anna"}`, 404, "run_not_found"},
		"an unknown outcome":       {run.ID, `{"target":"c2","for":"anna"}`, 400, "wrong_kind"},
		"after the deadline":       {run.ID, `{"target":"c3","for":"anna"}`, 409, "not_suspended"},
		"after the end of the run": {ended.ID, `{"target":"c1","for":"anna"}`, 409, "run_done"},
		"an unknown member":        {run.ID, `{"target":"c1","for":"anna","action":"resume"}`, 400, "unknown_field"},
	} {
		if got := s.send("POST", "/v1/runs/"+tt.run+"/links", tt.body, bearer("secret")); got.StatusCode != tt.status || got.problem(t).Code != tt.code {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	if page := decoded[wire.Page[wire.Link]](t, s.send("GET", "/v1/runs/"+run.ID+"/links", "", bearer("secret")).text); len(page.Items) > 0 {
		t.Errorf("links were made: %+v", page)
	}
}

func TestALinkNamesOneSuspension(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	run := s.start()
	call := frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}
	both := s.worker.Suspend(run.ID, call, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval})
	s.posts(posted{s.makeLink(run.ID, "c2", "anna").Link, `{"action":"resume"}`, "", 202, ""})
	newest := s.worker.Resuspend(run.ID, call)
	path := "/v1/runs/" + run.ID + "/links"
	s.posts(posted{path, `{"target":"` + both["c1"] + `","for":"anna"}`, "", 409, "stale_suspension"},
		posted{path, `{"target":"c1","for":"anna"}`, "", 409, "suspension_id_required"})
	if got := s.makeLink(run.ID, newest, "anna"); got.Suspension != newest {
		t.Errorf("%+v", got)
	}
	s.recorded(run.ID)
	if got := s.send("GET", "/v1/approvals/"+access.LinkKeys{linkKey}.Sign(access.Link{ID: "lnk_sus_1_nobody", Tenant: "default", Run: run.ID, Suspension: "sus_1_nobody",
		Expires: s.worker.Clock.Now().Add(time.Hour)}), ""); got.StatusCode != 404 || got.problem(t).Code != "call_not_found" {
		t.Errorf("a suspension that never was: %d %s", got.StatusCode, got.text)
	}
}

func TestLinksAreBoundedAndPaced(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) {
		withLinks(o)
		o.Limits.StartsPerSecond = 0.2 // two at once
	}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	for i := range 500 {
		if err := s.links.PutLink(t.Context(), engine.Link{Tenant: "default", Run: run.ID, ID: fmt.Sprintf("lnk_%d", i), Expires: 1 << 42}); err != nil {
			t.Fatal(err)
		}
	}
	path, body := "/v1/runs/"+run.ID+"/links", `{"target":"c1","for":"anna"}`
	s.posts(posted{path, body, "", 409, "too_many_links"}, posted{path, body, "", 429, "rate_limited"})
}
