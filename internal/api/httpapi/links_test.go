package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

var linkKey = bytes.Repeat([]byte{7}, 32)

func withLinks(o *httpapi.Options) { o.Links = access.LinkKeys{linkKey} }

// asks is a server with a run that waits for an approval, and the link that answers it.
func asks(t *testing.T, arguments string) (s *server, run wire.Run, link string) {
	t.Helper()
	s = newServer(t, settings{token: "secret", options: withLinks})
	run = s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: json.RawMessage(arguments)})
	return s, run, s.makeLink(run.ID, "c1", "anna@example.com").Link
}

// makeLink makes a link with the server's own token.
func (s *server) makeLink(run, target, recipient string, change ...func(*http.Request)) wire.Link {
	s.t.Helper()
	got := s.send("POST", "/v1/runs/"+run+"/links", string(core.Encode(wire.LinkRequest{Target: target, For: recipient})),
		append([]func(*http.Request){bearer(s.token)}, change...)...)
	if got.StatusCode != 201 {
		s.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	l := decoded[wire.Link](s.t, got.text)
	if !strings.HasPrefix(l.Link, "/v1/approvals/") {
		s.t.Fatalf("%+v", l)
	}
	return l
}

func TestALinkAnswersOneCallOnceAndNeedsNoToken(t *testing.T) {
	s, run, link := asks(t, `{"order":"A-17"}`)
	for range 3 {
		if got := s.send("GET", link, ""); got.StatusCode != 200 || !strings.Contains(got.text, `"arguments":{"order":"A-17"}`) {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || now.Status != "waiting" || len(now.Pending) != 1 {
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
	seen := s.send("GET", link, "")
	o := decoded[wire.Outcome](t, seen.text)
	if seen.StatusCode != 200 || o.State != "answered" || o.Decision.Action != "resume" || o.Decision.By != "link:anna@example.com" || o.Decision.Reason != "it is broken" {
		t.Errorf("look afterwards: %d %s", seen.StatusCode, seen.text)
	}
}

// A run that goes on while a call waits, here by an answer to another call, doesn't make the wait
// look younger.
func TestALinkTellsSinceWhenItsCallWaits(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c9", Tool: "refund", Kind: core.KindApproval})
	before := s.inboxEntry(run.ID, "c1")
	if got := s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"c9","action":"cancel"}`, bearer(s.token)); got.StatusCode != 202 {
		t.Fatal(got.text)
	}
	s.worker.Clock.AfterFunc(time.Hour, func() {}) // an hour passes
	s.worker.Drain(run.ID)
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || !now.UpdatedAt.After(before.Since.Time) {
		t.Fatalf("%+v, %v", now, err)
	}
	link := s.makeLink(run.ID, "c1", "kim@example.com").Link
	seen := decoded[wire.Approval](t, s.send("GET", link, "").text)
	if after := s.inboxEntry(run.ID, "c1"); !seen.Since.Equal(before.Since.Time) || !after.Since.Equal(before.Since.Time) {
		t.Errorf("the call waits since %v; the link says %v, the inbox %v", before.Since, seen.Since, after.Since)
	}
}

func (s *server) inboxEntry(run, call string) wire.Approval {
	s.t.Helper()
	got := s.send("GET", "/v1/approvals", "", bearer(s.token))
	for _, item := range decoded[wire.Page[wire.Approval]](s.t, got.text).Items {
		if item.RunID == run && item.CallID == call {
			return item
		}
	}
	s.t.Fatalf("%s of %s is not in the inbox: %s", call, run, got.text)
	return wire.Approval{}
}

func TestAPersonSeesAPageAndAnswersByItsForm(t *testing.T) {
	s, run, link := asks(t, `{"note":"<script>alert(1)</script>","name":"a\u202eb\u0000","order":"A-2`+"\u3164\u2800\u20dd"+`"}`)
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
	if first := page.text[strings.Index(page.text, "<form"):]; !strings.HasPrefix(first[strings.Index(first, "<button"):], `<button name="action" value="look" hidden>`) {
		t.Error("the enter key answers")
	}
	form := header("Content-Type", "application/x-www-form-urlencoded")
	for body, status := range map[string]int{"action=resume&action=cancel": 400, "action=resume&grant=run": 400, "action=cancel&reason=%ff": 400, "": 415} {
		if got := s.send("POST", link, body, html, form); body != "" && got.StatusCode != status {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.text)
		}
	}
	for _, body := range []string{"action=look&reason=x", "reason=x", "action=yes"} {
		again := s.send("POST", link, body, html, form)
		if again.StatusCode != 400 || !strings.Contains(again.text, `value="resume">Approve`) {
			t.Errorf("%s does not show the question again: %d %s", body, again.StatusCode, again.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Errorf("a look was stored: %+v, %v", now, err)
	}
	fromElsewhere := s.send("POST", link, "action=resume", html, form, header("Sec-Fetch-Site", "cross-site"))
	if fromElsewhere.StatusCode != 403 {
		t.Errorf("another site's page was listened to: %d", fromElsewhere.StatusCode)
	}
	no := url.Values{"action": {"cancel"}, "reason": {"not this one"}, "shown": {shownOn(t, page)}}.Encode()
	if got := s.send("POST", link, no, html, form, header("Sec-Fetch-Site", "same-origin")); got.StatusCode != 202 || !strings.Contains(got.text, "recorded") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", link, "action=resume", html, form); got.StatusCode != 409 || !strings.Contains(got.text, "Your answer was not used.") || !strings.Contains(got.text, "Answered: No") || !strings.Contains(got.text, "not this one") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// shownOn is the fingerprint in the form of a page.
func shownOn(t *testing.T, page answer) string {
	t.Helper()
	_, rest, _ := strings.Cut(page.text, `name="shown" value="`)
	shown, _, found := strings.Cut(rest, `"`)
	if !found || !strings.HasPrefix(shown, "v1:") {
		t.Fatalf("the form has no fingerprint: %s", page.text)
	}
	return shown
}

func TestALinkIsGoodForNothingElse(t *testing.T) {
	s, run, link := asks(t, `{}`)
	other := access.LinkKeys{bytes.Repeat([]byte{8}, 32)}.Sign(access.Link{ID: "lnk_x", Tenant: "default", Run: run.ID, Suspension: "sus_2_x", Expires: time.Now().Add(time.Hour)})
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
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Errorf("something was stored: %+v, %v", now, err)
	}
}

func TestARevokedLinkAnswersAndTellsNothing(t *testing.T) {
	s, run, _ := asks(t, `{"order":"A-17"}`)
	first, second := s.makeLink(run.ID, "c1", "anna"), s.makeLink(run.ID, "c1", "bob")
	if got := s.send("DELETE", "/v1/runs/"+run.ID+"/links/"+first.ID, "", bearer("secret")); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, method := range []string{"GET", "POST"} {
		for _, media := range []string{"application/json", "text/html"} {
			got := s.send(method, first.Link, `{"action":"resume"}`, header("Accept", media))
			if got.StatusCode != 410 || !strings.Contains(got.text, "revoked") {
				t.Errorf("%s %s: %d %s", method, media, got.StatusCode, got.text)
			}
			for _, secret := range []string{"A-17", "refund", "desk", run.ID, "anna"} {
				if strings.Contains(got.text, secret) {
					t.Errorf("%s %s tells %s: %s", method, media, secret, got.text)
				}
			}
		}
	}
	if got := s.send("DELETE", "/v1/runs/"+run.ID+"/links/lnk_nobody", "", bearer("secret")); got.StatusCode != 404 || got.problem(t).Code != "link_not_found" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", second.Link, `{"action":"cancel"}`); got.StatusCode != 202 {
		t.Errorf("the other link: %d %s", got.StatusCode, got.text)
	}
}

// A signature without a record, as after a restore of older data, or with the record of another
// question, answers nothing.
func TestASignatureAloneAnswersNothing(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	call := frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}
	other := call
	other.ID = "c2"
	second := s.worker.Suspend(run.ID, call, other)["c2"]
	made := s.makeLink(run.ID, "c1", "anna")
	sign := func(l access.Link) string {
		l.Tenant, l.Expires = "default", s.worker.Clock.Now().Add(time.Hour)
		return "/v1/approvals/" + access.LinkKeys{linkKey}.Sign(l)
	}
	for name, link := range map[string]string{
		"no record":         sign(access.Link{ID: "lnk_never", Run: run.ID, Suspension: made.Suspension}),
		"another question":  sign(access.Link{ID: made.ID, Run: run.ID, Suspension: second}),
		"another run":       sign(access.Link{ID: made.ID, Run: s.start().ID, Suspension: made.Suspension}),
		"the form before":   "/v1/approvals/YXBwcm92YWwtbGluay0xAGRlZmF1bHQAAABydW5fbHdhZzc2ZW5xMjJzYTRsejNhMjV6anRhXzAAc3VzXzFfZmJhcGVjbTIAMTc3Mjk3MTIwMA.e_LHtJbrSun_z0oLOLjWpezeYfYCu7uTjwH5ItdH4Ug",
		"a ticket for it":   "/v1/approvals/" + access.LinkKeys{linkKey}.SignTicket(access.Ticket{Tenant: "default", Run: run.ID, Expires: s.worker.Clock.Now().Add(time.Hour)}),
		"the link's record": "/v1/approvals/" + made.ID,
	} {
		for _, method := range []string{"GET", "POST"} {
			if got := s.send(method, link, `{"action":"resume"}`); got.StatusCode != 404 {
				t.Errorf("%s: %s: %d %s", name, method, got.StatusCode, got.text)
			}
		}
	}
}

func TestTwoLinksToOneQuestionAreTwoAnswers(t *testing.T) {
	s, run, _ := asks(t, `{}`)
	anna, bob := s.makeLink(run.ID, "c1", "anna"), s.makeLink(run.ID, "c1", "bob")
	if got := s.send("POST", anna.Link, `{"action":"resume"}`); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", bob.Link, `{"action":"resume"}`); got.StatusCode != 409 || got.problem(t).Code != "already_decided" {
		t.Errorf("the same answer by another person is called the same: %d %s", got.StatusCode, got.text)
	}
	page := s.send("GET", bob.Link, "", header("Accept", "text/html"))
	if page.StatusCode != 200 || !strings.Contains(page.text, "Answered: Yes") || !strings.Contains(page.text, "<bdi>anna</bdi>, by a link") {
		t.Errorf("%d %s", page.StatusCode, page.text)
	}
}

// A link is for one question, and not for what another caller answered to it.
func TestALinkThatCameSecondIsNotToldTheResult(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("s")
	sus := s.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "opinion", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult})["c1"]
	link := s.makeLink(run, sus, "bob").Link
	if got := s.send("POST", "/v1/runs/"+run+"/decisions", `{"target":"`+sus+`","action":"resume","result":"to Eve"}`, bearer("secret")); got.StatusCode != 202 {
		t.Fatal(got.text)
	}
	got := s.send("POST", link, `{"action":"cancel"}`)
	if got.StatusCode != 409 || got.problem(t).Winner == nil || strings.Contains(got.text, "to Eve") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestALinkExpires(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) {
		withLinks(o)
		o.Limits.LinkLife = -time.Second
	}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	link := s.makeLink(run.ID, "c1", "anna@example.com").Link
	for _, method := range []string{"GET", "POST"} {
		if got := s.send(method, link, `{"action":"resume"}`); got.StatusCode != 410 || got.problem(t).Code != "link_expired" {
			t.Errorf("%s: %d %s", method, got.StatusCode, got.text)
		}
		page := s.send(method, link, `{"action":"resume"}`, header("Accept", "text/html"))
		if page.StatusCode != 410 || !strings.Contains(page.text, "This link has expired") || strings.Contains(page.text, "refund") || strings.Contains(page.text, "desk") || strings.Contains(page.text, "UTC") {
			t.Errorf("%s: %d %s", method, page.StatusCode, page.text)
		}
	}
}

func TestALinkEndsWithTheRightOfWhoWasGivenIt(t *testing.T) {
	given := grant("bot", "default", "bot's", access.Links, access.Decide, access.Start)
	was, _ := access.NewKeys(given).Named("bot")
	moved, reads, anew := was, was, was
	moved.Tenant, reads.Roles, anew.Fingerprint = "zoo", []access.Role{access.Read, access.Decide}, "another"
	for name, then := range map[string]*access.Principal{"the token is gone": nil, "it is another tenant's": &moved, "it may make no links any more": &reads, "another has its name": &anew} {
		t.Run(name, func(t *testing.T) {
			known := &changing{Keys: access.NewKeys(given)}
			s := newServer(t, settings{options: func(o *httpapi.Options) {
				withLinks(o)
				o.Keys = known
			}})
			run := s.startAs("bot's")
			s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
			link := s.makeLink(run.ID, "c1", "anna@example.com", bearer("bot's")).Link
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

func TestADecisionByALinkSaysForWhomItWasMadeAndByWhom(t *testing.T) {
	s, run, link := asks(t, `{}`)
	if got := s.send("POST", link, `{"action":"resume"}`); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	s.worker.Drain(run.ID)
	page, err := s.client.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Items {
		var rec wire.DecisionRecordedData
		if e.Type == "decision.recorded" && json.Unmarshal(e.Data, &rec) == nil {
			if rec.By != "link:anna@example.com" || rec.Via != "link" || !strings.HasPrefix(rec.Link, "lnk_") || rec.MintedBy != "token:test" {
				t.Errorf("%s", e.Data)
			}
			return
		}
	}
	t.Errorf("no event says so: %+v", page.Items)
}
