package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// signsIn is a server with a call that waits for an approval by someone other than its requester,
// and a link to it that asks for a token. change makes another link of it.
func signsIn(t *testing.T, call frontendtest.Call, change func(*wire.LinkRequest)) (s *server, run wire.Run, link string) {
	t.Helper()
	return signsInWith(t, call, change, withLinks)
}

func signsInWith(t *testing.T, call frontendtest.Call, change func(*wire.LinkRequest), options func(*httpapi.Options)) (s *server, run wire.Run, link string) {
	t.Helper()
	s = newServer(t, settings{token: "secret", options: options, grants: []access.Grant{grant("anna", "default", "anna's", access.Decide), grant("bob", "default", "bob's", access.Decide),
		grant("reader", "default", "reader's", access.Read), grant("mailer", "default", "mailer's", access.Links), grant("zoe", "zoo", "zoe's", access.Admin)}})
	s.worker.Who = true
	run = s.start()
	call.ID, call.Tool, call.Kind = "c1", "refund", core.KindApproval
	s.worker.Suspend(run.ID, call)
	req := wire.LinkRequest{Target: "c1", For: "anna"}
	change(&req)
	got := s.send("POST", "/v1/runs/"+run.ID+"/links", string(core.Encode(req)), bearer("secret"))
	if got.StatusCode != 201 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	return s, run, decoded[wire.Link](t, got.text).Link
}

func needsToken(r *wire.LinkRequest) { r.Require = "token" }

func (s *server) waits(run string) bool {
	s.t.Helper()
	now, err := s.client.Run(s.t.Context(), run)
	return err == nil && len(now.Pending) == 1
}

func TestALinkThatAsksForATokenDecidesAsItsCaller(t *testing.T) {
	s, run, link := signsIn(t, frontendtest.Call{Approvers: []string{"token:anna"}}, needsToken)
	page := s.send("GET", link, "", asPage)
	if !strings.Contains(page.text, `<input type="password" id="token" name="token"`) {
		t.Fatal(page.text)
	}
	for name, tt := range map[string]struct {
		token  string
		status int
	}{
		"no token": {"", 401}, "an unknown one": {"anna", 401}, "of another tenant": {"zoe's", 401}, "without the role decide": {"reader's", 403},
		"that may only make links": {"mailer's", 403}, "of no approver": {"bob's", 403}, "of the link's maker": {"secret", 403},
	} {
		form := fill(t, page, "token", tt.token)
		if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != tt.status || !strings.Contains(got.text, `name="token"`) || tt.token != "" && strings.Contains(got.text, `value="`+tt.token) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
		if got := s.send("POST", link, `{"action":"resume"}`, func(r *http.Request) {
			if tt.token != "" {
				bearer(tt.token)(r)
			}
		}); got.StatusCode != tt.status {
			t.Errorf("%s, in a header: %d %s", name, got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", link+"?token="+url.QueryEscape("anna's"), fill(t, page).Encode(), asPage, asForm); got.StatusCode != 401 {
		t.Errorf("a token in the URL counts: %d", got.StatusCode)
	}
	for _, method := range []string{"GET", "HEAD"} {
		s.send(method, link, "", bearer("anna's"))
	}
	form := fill(t, page, "token", "anna's")
	if got := s.send("POST", link, form.Encode(), asPage, asForm, header("Sec-Fetch-Site", "cross-site")); got.StatusCode != 403 {
		t.Errorf("another site's page: %d", got.StatusCode)
	}
	if got := s.send("POST", link[:len(link)-3]+"abc", form.Encode(), asPage, asForm); got.StatusCode != 404 {
		t.Errorf("a tampered link: %d", got.StatusCode)
	}
	if !s.waits(run.ID) {
		t.Fatal("something was stored")
	}
	for _, want := range []int{202, 200} {
		if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != want {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	if o := decoded[wire.Outcome](t, s.send("GET", link, "").text); o.Decision.By != "token:anna" || o.Decision.Via != "link" {
		t.Errorf("%+v", o.Decision)
	}
	form.Set("token", "bob's")
	if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode == 200 || got.StatusCode == 202 {
		t.Errorf("another person's answer is called the same: %d", got.StatusCode)
	}
}

func TestWhoAskedDoesNotApproveByALinkThatAsksForAToken(t *testing.T) {
	s, run, link := signsIn(t, frontendtest.Call{NotBy: core.NotByStarter}, needsToken)
	if got := s.send("POST", link, `{"action":"resume"}`, bearer("secret")); got.StatusCode != 403 || got.problem(t).Code != "separation_of_duties" || !s.waits(run.ID) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	// its maker has asked for the work, and hands on no right
	if got := s.send("POST", link, `{"action":"resume"}`, bearer("anna's")); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestGuessingTokensStops(t *testing.T) {
	s, run, link := signsIn(t, frontendtest.Call{}, needsToken)
	for i := range 12 {
		got := s.send("POST", link, `{"action":"resume"}`, bearer("guess"))
		if want := map[bool]int{true: 401, false: 429}[i < 10]; got.StatusCode != want {
			t.Fatalf("%d: %d %s", i, got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", link, `{"action":"resume"}`, bearer("anna's")); got.StatusCode != 429 || !s.waits(run.ID) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	s.pass(time.Minute)
	if got := s.send("POST", link, `{"action":"resume"}`, bearer("anna's")); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// slowKeys tell of each search for a token, and end none before they are released.
type slowKeys struct {
	httpapi.Keys
	asked   chan struct{}
	release chan struct{}
}

func (k slowKeys) Find(ctx context.Context, token string) (access.Principal, bool, error) {
	if token == "guess" {
		k.asked <- struct{}{}
		<-k.release
	}
	return k.Keys.Find(ctx, token)
}

func TestGuessesAtTheSameMomentAreCountedToo(t *testing.T) {
	slow := slowKeys{asked: make(chan struct{}), release: make(chan struct{})}
	s, _, link := signsInWith(t, frontendtest.Call{}, needsToken, func(o *httpapi.Options) {
		withLinks(o)
		slow.Keys, o.Keys = o.Keys, &slow
	})
	const sent = 25
	answers := make(chan int, sent)
	for range sent {
		go func() { answers <- s.send("POST", link, `{"action":"resume"}`, bearer("guess")).StatusCode }()
	}
	got := map[int]int{}
	for range sent {
		select {
		case <-slow.asked:
		case status := <-answers:
			got[status]++
		}
	}
	close(slow.release)
	for got[401]+got[429] < sent {
		got[<-answers]++
	}
	if got[401] != 10 || got[429] != sent-10 {
		t.Errorf("%v", got)
	}
	s.pass(time.Minute)
	for range 3 { // a good token takes no try
		if got := s.send("POST", link, `{"action":"resume"}`, bearer("anna's")); got.StatusCode/100 != 2 {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
}

func TestALinkEditsArgumentsOnlyIfItsMakerLetIt(t *testing.T) {
	original := json.RawMessage(`{"amount":900,"note":"a\u202eb"}`)
	plain, run, link := signsIn(t, frontendtest.Call{Arguments: original}, func(*wire.LinkRequest) {})
	page := plain.send("GET", link, "", asPage)
	if strings.Contains(page.text, `name="arguments"`) {
		t.Error("the page edits")
	}
	if got := plain.send("POST", link, fill(t, page, "action", "edit", "arguments", `{"amount":1}`).Encode(), asPage, asForm); got.StatusCode != 400 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := plain.send("POST", link, `{"action":"resume","arguments":{"amount":1}}`); got.StatusCode != 400 || got.problem(t).Code != "wrong_kind" || !plain.waits(run.ID) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}

	s, run, link := signsIn(t, frontendtest.Call{Arguments: original}, func(r *wire.LinkRequest) { r.Edit = true })
	page = s.send("GET", link, "", asPage)
	if strings.Contains(page.text, `name="arguments"`) || !strings.Contains(page.text, `value="change"`) {
		t.Error(page.text)
	}
	change := s.send("POST", link, fill(t, page, "action", "change").Encode(), asPage, asForm)
	if change.StatusCode != 200 || !strings.Contains(change.text, `<textarea id="arguments"`) || strings.Contains(change.text, "\u202e") {
		t.Errorf("%d %s", change.StatusCode, change.text)
	}
	for name, tt := range map[string]struct{ action, arguments, says string }{
		"approved, and changed":     {"resume", `{"amount":1}`, "the arguments were changed"},
		"compared, and not changed": {"compare", ` {"note":"a\u202eb","amount":900}`, "nothing is changed"},
		"edited, and not changed":   {"edit", ` {"note":"a\u202eb","amount":900}`, "nothing is changed"},
		"no JSON":                   {"edit", `{amount:1}`, "JSON"},
		"no JSON to compare":        {"compare", `{amount:1}`, "JSON"},
		"no object":                 {"compare", `[1]`, "must be an object"},
		"ambiguous names":           {"edit", `{"amount":1,"amount":2}`, "a name twice"},
		"ambiguous to compare":      {"compare", `{"amount":1,"amount":2}`, "a name twice"},
		"nothing":                   {"edit", ``, "JSON"},
	} {
		got := s.send("POST", link, fill(t, page, "action", tt.action, "arguments", tt.arguments).Encode(), asPage, asForm)
		if got.StatusCode/100 != 4 || !strings.Contains(got.text, tt.says) || tt.action != "resume" && !strings.Contains(got.text, `id="arguments-bad"`) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	difference := s.send("POST", link, fill(t, change, "action", "compare", "arguments", `{"amount": 120}`).Encode(), asPage, asForm)
	if difference.StatusCode != 200 || strings.Count(difference.text, "changed by you") != 2 || !strings.Contains(difference.text, "left out") || !strings.Contains(difference.text, "Approve with this change") {
		t.Errorf("%d %s", difference.StatusCode, difference.text)
	}
	if got := s.send("POST", link, `{"action":"resume","arguments":[1]}`); got.StatusCode != 422 || got.problem(t).Code != "invalid_arguments" {
		t.Errorf("arguments that are a list: %d %s", got.StatusCode, got.text)
	}
	if !s.waits(run.ID) {
		t.Fatal("something was stored")
	}
	for _, want := range []int{202, 200} {
		if got := s.send("POST", link, fill(t, difference, "action", "edit", "arguments", hidden(difference, "arguments")).Encode(), asPage, asForm); got.StatusCode != want {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	s.worker.Drain(run.ID)
	if events := s.send("GET", "/v1/runs/"+run.ID+"/events?limit=100", "", header("Accept", "application/json"), bearer("secret")).text; !strings.Contains(events, `"arguments":{"amount":120}`) || !strings.Contains(events, `"by":"link:anna"`) {
		t.Error(events)
	}
}

func TestALinkGivesNoMoreThanItsMakerHas(t *testing.T) {
	s, run, _ := signsIn(t, frontendtest.Call{}, needsToken)
	path := "/v1/runs/" + run.ID + "/links"
	for _, tt := range []struct {
		body, token string
		status      int
	}{
		{`{"target":"c1","for":"anna","edit":true}`, "mailer's", 403},
		{`{"target":"c1","for":"anna","require":"face"}`, "secret", 400},
		{`{"target":"c1","for":"anna","require":"token"}`, "mailer's", 201},
	} {
		if got := s.send("POST", path, tt.body, bearer(tt.token)); got.StatusCode != tt.status {
			t.Errorf("%s: %d %s", tt.body, got.StatusCode, got.text)
		}
	}
	none := newServer(t, settings{options: withLinks})
	other := none.start()
	none.worker.Suspend(other.ID, frontendtest.Call{ID: "c1", Tool: "ask", Kind: core.KindInput})
	none.posts(posted{"/v1/runs/" + other.ID + "/links", `{"target":"c1","for":"anna","require":"token"}`, "", 400, "invalid_request"},
		posted{"/v1/runs/" + other.ID + "/links", `{"target":"c1","for":"anna","edit":true}`, "", 400, "wrong_kind"})
}
