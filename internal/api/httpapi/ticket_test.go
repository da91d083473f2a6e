package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func signedTicket(t access.Ticket) string { return access.LinkKeys{linkKey}.SignTicket(t) }

// ticketFor opens the events of a run, for an hour.
func ticketFor(run string) string {
	return signedTicket(access.Ticket{Tenant: access.Tenant, Roles: []access.Role{access.Read}, Run: run, Expires: frontendtest.NewClock().Now().Add(time.Hour)})
}

// elsewhere is an API whose streams are served by another server on the same store.
func elsewhere(t *testing.T, s settings) (front, streams *server) {
	t.Helper()
	options := s.options
	s.options = func(o *httpapi.Options) {
		withLinks(o)
		if options != nil {
			options(o)
		}
		streams = newServer(t, settings{shared: o.Frontend, clock: s.clock, options: func(other *httpapi.Options) {
			withLinks(other)
			other.Keys, other.Part, other.Limits, other.Origins = o.Keys, httpapi.PartStreams, o.Limits, o.Origins
		}})
		o.StreamURL = streams.url + "/"
	}
	return newServer(t, s), streams
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func TestWhoAsksForAStreamIsSentToItWithATicket(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret"})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.send("POST", "/v1/runs/"+run.ID+"/cancel", "", bearer("secret"))
	s.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	s.http.CheckRedirect = stay
	page := decoded[wire.EventPage](t, s.send("GET", "/v1/runs/"+run.ID+"/events?limit=1", "", bearer("secret"), header("Accept", "application/json")).text)
	sent := s.send("GET", "/v1/runs/"+run.ID+"/events?follow=true", "", bearer("secret"), header("Last-Event-ID", page.Next))
	location := sent.Header.Get("Location")
	if sent.StatusCode != 307 || !strings.HasPrefix(location, streams.url+"/v1/streams/") || strings.Contains(location, "?") {
		t.Fatalf("%d %s %s", sent.StatusCode, location, sent.text)
	}
	if sent.Header.Get("Referrer-Policy") != "no-referrer" || sent.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the ticket may be seen: %v", sent.Header)
	}
	stream := streams.send("GET", strings.TrimPrefix(location, streams.url), "")
	if stream.StatusCode != 200 || strings.Contains(stream.text, page.Items[0].Cursor+"\n") || !strings.Contains(stream.text, "run.status") {
		t.Errorf("%d %s", stream.StatusCode, stream.text)
	}
	for path, code := range map[string]string{"/v1/runs/run_nobody_0/events": "run_not_found", "/v1/runs/" + run.ID + "/events?after=x": "bad_cursor"} {
		if got := s.send("GET", path, "", bearer("secret")); got.problem(t).Code != code {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
	end := decoded[wire.EventPage](t, s.send("GET", "/v1/runs/"+run.ID+"/events", "", bearer("secret"), header("Accept", "application/json")).text).Next
	if got := s.send("GET", "/v1/runs/"+run.ID+"/events?after="+end, "", bearer("secret")); got.StatusCode != 204 {
		t.Errorf("there is nothing more: %d", got.StatusCode)
	}
	atEnd := access.Ticket{Tenant: access.Tenant, Name: "test", Fingerprint: fingerprintOf("secret"), Roles: []access.Role{access.Read}, Run: run.ID,
		Expires: frontendtest.NewClock().Now().Add(time.Hour), ID: "at the end", Query: "after=" + end}
	if got := streams.send("GET", "/v1/streams/"+signedTicket(atEnd), ""); got.StatusCode != 204 {
		t.Errorf("there is nothing more of the stream: %d", got.StatusCode)
	}
}

func TestTheClientFollowsToTheStream(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret"})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	var leaked string
	c := client.New(s.url, client.WithToken("secret"), client.WithHTTPClient(&http.Client{Transport: tap{func(r *http.Request) {
		if "http://"+r.URL.Host == streams.url {
			leaked += r.URL.Path + " "
		}
	}}}), client.WithRetries(0))
	events, err := client.Collect(c.Events(t.Context(), run.ID, client.EventOptions{}))
	if err != nil || len(events) == 0 {
		t.Fatal(events, err)
	}
	if !strings.HasPrefix(leaked, "/v1/streams/") {
		t.Errorf("the stream was not asked: %q", leaked)
	}
}

// tap shows each request.
type tap struct{ show func(*http.Request) }

func (t tap) RoundTrip(r *http.Request) (*http.Response, error) {
	t.show(r)
	return http.DefaultTransport.RoundTrip(r)
}

func TestATicketOpensOneStreamForAWhileAndNothingElse(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run, other := s.start(), s.start()
	s.worker.Finish(run.ID, "bye")
	s.worker.Finish(other.ID, "secret of another run")
	now := frontendtest.NewClock().Now()
	test := access.Ticket{Tenant: access.Tenant, Name: "test", Fingerprint: fingerprintOf("secret"), Roles: []access.Role{access.Read}, Run: run.ID, Expires: now.Add(time.Hour)}
	changed := func(change func(*access.Ticket)) string {
		c := test
		change(&c)
		return signedTicket(c)
	}
	good := signedTicket(test)
	for name, tt := range map[string]struct {
		path   string
		status int
		code   string
	}{
		"good":              {"/v1/streams/" + good, 200, ""},
		"cut":               {"/v1/streams/" + good[:len(good)-3], 404, "not_found"},
		"of another key":    {"/v1/streams/" + access.LinkKeys{[]byte("another key, which is long enough")}.SignTicket(test), 404, "not_found"},
		"a link":            {"/v1/streams/" + strings.TrimPrefix(s.linkTo(run.ID, "sus_1_x"), "/v1/approvals/"), 404, "not_found"},
		"as a link":         {"/v1/approvals/" + good, 404, "not_found"},
		"expired":           {"/v1/streams/" + changed(func(t *access.Ticket) { t.Expires = now.Add(-time.Minute) }), 410, "link_expired"},
		"of another tenant": {"/v1/streams/" + changed(func(t *access.Ticket) { t.Tenant = "zoo" }), 404, "run_not_found"},
		"with a page's":     {"/v1/streams/" + good + "?wait=3", 400, "unknown_field"},
		"with a bad cursor": {"/v1/streams/" + good + "?after=x", 400, "bad_cursor"},
		"with a bad follow": {"/v1/streams/" + good + "?follow=x", 400, "invalid_request"},
		"as a token":        {"/v1/runs/" + run.ID, 401, "unauthorized"},
	} {
		got := s.send("GET", tt.path, "", func(r *http.Request) {
			if tt.status == 401 {
				r.Header.Set("Authorization", "Bearer "+good)
			}
		})
		if got.StatusCode != tt.status || tt.code != "" && got.problem(t).Code != tt.code || strings.Contains(got.text, "another run") {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
}

func TestATicketsStreamEndsWithTheTokenItWasGivenTo(t *testing.T) {
	known := &changing{Keys: access.NewKeys(grant("test", "default", "secret", access.Admin))}
	s, streams := elsewhere(t, settings{token: "secret", clock: realClock{},
		options: func(o *httpapi.Options) { o.Keys, o.Limits.KeepAlive = known, 20*time.Millisecond }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.http.CheckRedirect = stay
	location := s.send("GET", "/v1/runs/"+run.ID+"/events?follow=true", "", bearer("secret")).Header.Get("Location")
	req, err := http.NewRequestWithContext(t.Context(), "GET", location, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := streams.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	known.change(nil)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // ends, or the test hangs
		t.Error(err)
	}
}

func TestTooManyStreamsByTickets(t *testing.T) {
	s := newServer(t, settings{clock: realClock{}, options: func(o *httpapi.Options) { withLinks(o); o.Limits.Streams = 1 }})
	run := s.start()
	ticket := signedTicket(access.Ticket{Tenant: access.Tenant, Roles: []access.Role{access.Read}, Run: run.ID, Expires: time.Now().Add(time.Hour)})
	first := s.open(run.ID, "")
	defer first.Body.Close()
	if got := s.send("GET", "/v1/streams/"+ticket, ""); got.StatusCode != 429 || got.problem(t).Code != "too_many_streams" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// A browser's page that is sent on from one site to another comes as the origin "null".
func TestAPageMayFollowToTheStream(t *testing.T) {
	page := "https://desk.example"
	s, streams := elsewhere(t, settings{token: "secret", options: func(o *httpapi.Options) { o.Origins = []string{page} }})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	s.http.CheckRedirect = stay
	sent := s.send("GET", "/v1/runs/"+run.ID+"/events", "", bearer("secret"), header("Origin", page), header("Sec-Fetch-Site", "cross-site"))
	if sent.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("the redirect is not for the page: %v", sent.Header)
	}
	stream := streams.send("GET", strings.TrimPrefix(sent.Header.Get("Location"), streams.url), "", header("Origin", "null"), header("Sec-Fetch-Site", "cross-site"))
	if stream.StatusCode != 200 || stream.Header.Get("Access-Control-Allow-Origin") != "*" || stream.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the stream is not for the page: %d %v", stream.StatusCode, stream.Header)
	}
}

func TestABufferedStreamEndsWhenSomethingWasSentOrAfterAWhile(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Buffered = true; o.Limits.StreamLife = time.Hour }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	first := s.send("GET", "/v1/runs/"+run.ID+"/events?follow=true", "")
	if first.StatusCode != 200 || !strings.Contains(first.text, "event: ") {
		t.Fatalf("what is there: %d %s", first.StatusCode, first.text)
	}
	cursor := first.text[strings.LastIndex(first.text, "id: ")+4:]
	cursor = cursor[:strings.Index(cursor, "\n")]
	before := s.worker.Clock.Now()
	silent := s.send("GET", "/v1/runs/"+run.ID+"/events?follow=true", "", header("Last-Event-ID", cursor))
	if silent.StatusCode != 200 || strings.Contains(silent.text, "event: ") {
		t.Fatalf("nothing is there: %d %s", silent.StatusCode, silent.text)
	}
	if held := s.worker.Clock.Now().Sub(before); held < 15*time.Second || held > 25*time.Second {
		t.Errorf("it was held for %v", held)
	}
}

func TestAnAddressOfStreamsThatIsNoneIsRefused(t *testing.T) {
	links := access.LinkKeys{linkKey}
	for _, address := range []string{"streams.example", "ftp://streams.example", "https://", "https://streams.example/?x=1", "://"} {
		if _, err := httpapi.New(httpapi.Options{Frontend: &frontend.Frontend{}, StreamURL: address, Links: links}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
	if _, err := httpapi.New(httpapi.Options{Frontend: &frontend.Frontend{}, StreamURL: "https://streams.example"}); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("without a key: %v", err)
	}
}

// A ticket that leaks, such as from the log of a proxy, is worth nothing once its stream is open.
func TestATicketOpensOneStreamOnce(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret"})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	s.http.CheckRedirect = stay
	ticket := func() string {
		location := s.send("GET", "/v1/runs/"+run.ID+"/events", "", bearer("secret")).Header.Get("Location")
		return strings.TrimPrefix(location, streams.url)
	}
	first := ticket()
	if got := streams.send("GET", first, ""); got.StatusCode != 200 || !strings.Contains(got.text, "run.status") {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, after := range []func(*http.Request){header("Last-Event-ID", "x"), header("Accept", "text/event-stream"), bearer("secret")} {
		if got := streams.send("GET", first, "", after); got.StatusCode != 410 || got.problem(t).Code != "ticket_used" {
			t.Errorf("a replay: %d %s", got.StatusCode, got.text)
		}
	}
	if got := streams.send("GET", ticket(), ""); got.StatusCode != 200 {
		t.Errorf("the next ticket: %d %s", got.StatusCode, got.text)
	}
}

// The query is part of what is signed: with another view, for example, a ticket for a run would
// show the conversation before it.
func TestWhoHasATicketCannotAskForAnotherStream(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret"})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	s.http.CheckRedirect = stay
	location := s.send("GET", "/v1/runs/"+run.ID+"/events?follow=true", "", bearer("secret")).Header.Get("Location")
	path := strings.TrimPrefix(location, streams.url)
	for _, query := range []string{"?view=ag-ui%3Frestate%3D1", "?tree=true", "?after=x", "?follow=false", "?agent=other"} {
		if got := streams.send("GET", path+query, ""); got.StatusCode != 400 {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
	if got := streams.send("GET", path, ""); got.StatusCode != 200 {
		t.Errorf("what was refused used the ticket up: %d %s", got.StatusCode, got.text)
	}
	ticket, err := access.LinkKeys{linkKey}.OpenTicket(strings.TrimPrefix(path, "/v1/streams/"), frontendtest.NewClock().Now())
	if err != nil || ticket.Query != "follow=true" {
		t.Errorf("%+v, %v", ticket, err)
	}
}

// brokenTickets can't say whether a ticket was used.
type brokenTickets struct{}

func (brokenTickets) Use(context.Context, string, time.Time) (bool, error) {
	return false, fmt.Errorf("%w: throttled", engine.ErrUnavailable)
}

func TestATicketThatCannotBeMarkedOpensNothing(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) { withLinks(o); o.Limits.Tickets = brokenTickets{} }})
	run := s.start()
	s.worker.Finish(run.ID, "bye")
	ticket := signedTicket(access.Ticket{Tenant: access.Tenant, Name: "test", Fingerprint: fingerprintOf("secret"), Roles: []access.Role{access.Read}, Run: run.ID,
		Expires: frontendtest.NewClock().Now().Add(time.Minute), ID: "once"})
	if got := s.send("GET", "/v1/streams/"+ticket, ""); got.StatusCode != 503 || got.problem(t).Code != "unavailable" || got.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
