package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/httpapi"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

var linkKey = bytes.Repeat([]byte{7}, 32)

func withLinks(o *httpapi.Options) { o.Links = access.LinkKeys{linkKey} }

// asks is a server with a run that waits for an approval, and the link that answers it.
func asks(t *testing.T, arguments string) (s *server, run wire.Run, link string) {
	t.Helper()
	s = newServer(t, settings{token: "secret", options: withLinks})
	run = s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: json.RawMessage(arguments)})
	inbox, err := s.client.Approvals(t.Context(), client.List{})
	if err != nil || len(inbox.Items) != 1 || !strings.HasPrefix(inbox.Items[0].Link, "/v1/approvals/") {
		t.Fatalf("%+v, %v", inbox, err)
	}
	return s, run, inbox.Items[0].Link
}

func TestALinkAnswersOneCallOnceAndNeedsNoToken(t *testing.T) {
	s, run, link := asks(t, `{"order":"A-17"}`)
	for range 3 {
		if got := s.send("GET", link, ""); got.StatusCode != 200 || !strings.Contains(got.text, `"arguments":{"order":"A-17"}`) {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID, 0); err != nil || now.Status != "waiting" || len(now.Pending) != 1 {
		t.Fatalf("looking changed the run: %+v, %v", now, err)
	}
	yes := `{"action":"resume","reason":"it is broken"}`
	if got := s.send("POST", link+"?utm_source=mail&utm_source=chat", yes); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", link, yes); got.StatusCode != 200 || !strings.Contains(got.text, `"same":true`) {
		t.Errorf("again: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", link, `{"action":"cancel"}`); got.StatusCode != 409 || got.problem(t).Code != "already_decided" {
		t.Errorf("another one: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("GET", link, ""); got.StatusCode != 409 || got.problem(t).Code != "not_suspended" {
		t.Errorf("look afterwards: %d %s", got.StatusCode, got.text)
	}
}

func TestAPersonSeesAPageAndAnswersByItsForm(t *testing.T) {
	s, _, link := asks(t, `{"note":"<script>alert(1)</script>","name":"a\u202eb\u0000","order":"A-2`+"\u3164\u2800\u20dd"+`"}`)
	html := header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	page := s.send("GET", link, "", html)
	if page.StatusCode != 200 || strings.Contains(page.text, "<script") || strings.ContainsAny(page.text, "\u202e\u3164\u2800") || !strings.Contains(page.text, "refund") {
		t.Fatalf("%d %s", page.StatusCode, page.text)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if first := page.text[strings.Index(page.text, "<form"):]; !strings.HasPrefix(first[strings.Index(first, "<button"):], `<button type="submit" disabled`) || strings.Contains(first, "<input") {
		t.Error("the enter key answers")
	}
	form := header("Content-Type", "application/x-www-form-urlencoded")
	for body, status := range map[string]int{"action=resume&action=cancel": 400, "action=resume&grant=run": 400, "action=cancel&reason=%ff": 400, "reason=x": 400, "": 415} {
		if got := s.send("POST", link, body, html, form); body != "" && got.StatusCode != status {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.text)
		}
	}
	fromElsewhere := s.send("POST", link, "action=resume", html, form, header("Sec-Fetch-Site", "cross-site"))
	if fromElsewhere.StatusCode != 403 {
		t.Errorf("another site's page was listened to: %d", fromElsewhere.StatusCode)
	}
	no := url.Values{"action": {"cancel"}, "reason": {"not this one"}}.Encode()
	if got := s.send("POST", link, no, html, form, header("Sec-Fetch-Site", "same-origin")); got.StatusCode != 202 || !strings.Contains(got.text, "stored") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", link, "action=resume", html, form); got.StatusCode != 409 || !strings.Contains(got.text, "the answer that counts is cancel") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestALinkIsGoodForNothingElse(t *testing.T) {
	s, run, link := asks(t, `{}`)
	other := access.LinkKeys{bytes.Repeat([]byte{8}, 32)}.Sign(access.Link{Tenant: "default", Name: "test", Run: run.ID, Suspension: "sus_2_x", Expires: time.Now().Add(time.Hour)})
	for name, tt := range map[string]struct {
		path, body string
		status     int
	}{
		"cut":               {link[:len(link)-4], `{"action":"resume"}`, 404},
		"of another key":    {"/v1/approvals/" + other, `{"action":"resume"}`, 404},
		"no action":         {link, `{}`, 400},
		"unclear action":    {link, `{"action":"yes"}`, 400},
		"edited arguments":  {link, `{"action":"resume","arguments":{"order":"B-1"}}`, 400},
		"another target":    {link, `{"action":"resume","target":"sus_2_x"}`, 400},
		"a form with none":  {link, ``, 415},
		"a link as a token": {"/v1/runs", `{"agent":"desk","input":"hello"}`, 401},
	} {
		got := s.send("POST", tt.path, tt.body, func(r *http.Request) {
			if tt.status == 401 {
				r.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(link, "/v1/approvals/"))
			}
		})
		if got.StatusCode != tt.status {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID, 0); err != nil || len(now.Pending) != 1 {
		t.Errorf("something was stored: %+v, %v", now, err)
	}
}

func TestOnlyWhoMayDecideIsGivenLinks(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks, grants: []access.Grant{grant("reader", "default", "reads", access.Read)}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "locate", Kind: core.KindClient})
	if got := s.send("GET", "/v1/approvals", "", bearer("reads")); got.StatusCode != 200 || strings.Contains(got.text, `"link"`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("GET", "/v1/approvals", "", bearer("secret")); strings.Count(got.text, `"link"`) != 1 {
		t.Errorf("a link for the approval, and none for the client's call: %s", got.text)
	}
}

func TestALinkExpires(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) {
		withLinks(o)
		o.Limits.LinkLife = -time.Second
	}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	inbox, err := s.client.Approvals(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		if got := s.send(method, inbox.Items[0].Link, `{"action":"resume"}`); got.StatusCode != 410 || got.problem(t).Code != "link_expired" {
			t.Errorf("%s: %d %s", method, got.StatusCode, got.text)
		}
	}
}

func TestALinkEndsWithTheRightOfWhoWasGivenIt(t *testing.T) {
	given := grant("bot", "default", "bot's", access.Decide, access.Start)
	was, _ := access.NewKeys(given).Named("bot")
	moved, reads, anew := was, was, was
	moved.Tenant, reads.Roles, anew.Fingerprint = "zoo", []access.Role{access.Read}, "another"
	for name, then := range map[string]*access.Principal{"the token is gone": nil, "it is another tenant's": &moved, "it may only read": &reads, "another has its name": &anew} {
		t.Run(name, func(t *testing.T) {
			known := &changing{Keys: access.NewKeys(given)}
			s := newServer(t, settings{options: func(o *httpapi.Options) {
				withLinks(o)
				o.Keys = known
			}})
			run := s.startAs("bot's")
			s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
			var inbox wire.Page[wire.Approval]
			if err := json.Unmarshal([]byte(s.send("GET", "/v1/approvals", "", bearer("bot's")).text), &inbox); err != nil || len(inbox.Items) != 1 {
				t.Fatal(inbox, err)
			}
			link := inbox.Items[0].Link
			if got := s.send("GET", link, ""); got.StatusCode != 200 {
				t.Fatalf("%d %s", got.StatusCode, got.text)
			}
			known.change(then)
			for _, method := range []string{"GET", "POST"} {
				if got := s.send(method, link, `{"action":"resume"}`); got.StatusCode != 410 || got.problem(t).Code != "link_expired" {
					t.Errorf("%s: %d %s", method, got.StatusCode, got.text)
				}
			}
		})
	}
}

func TestADecisionByALinkSaysWhoseLinkItWas(t *testing.T) {
	s, run, link := asks(t, `{}`)
	if got := s.send("POST", link, `{"action":"resume"}`); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	s.worker.Drain(run.ID)
	page, err := s.client.Events(t.Context(), run.ID, "", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Type == "decision.recorded" && strings.Contains(string(e.Data), `"link:test"`) {
			return
		}
	}
	t.Errorf("no event says so: %+v", page.Items)
}
