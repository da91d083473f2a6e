package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

const wantsPage = "application/json"

var refundCall = frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: json.RawMessage(`{"order":"A-17"}`)}

// decided is a run whose call an approver has allowed with other arguments, and that has ended.
func (s *server) decided(token string) wire.Run {
	s.t.Helper()
	run := s.startAs(token)
	sus := s.worker.Suspend(run.ID, refundCall)["c1"]
	got := s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"`+sus+`","action":"resume","arguments":{"order":"B-2"},"reason":"fine"}`, bearer(token))
	if got.StatusCode != 202 {
		s.t.Fatal(got.text)
	}
	s.worker.Finish(run.ID, "done")
	return run
}

func TestTheEventsOfATenantAsPages(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	run := s.decided("secret")
	waits := s.startAs("secret")
	s.worker.Suspend(waits.ID, refundCall)
	read := func(query string) wire.FeedPage {
		t.Helper()
		got := s.send("GET", "/v1/events"+query, "", bearer("secret"), header("Accept", wantsPage))
		if got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", query, got.StatusCode, got.text)
		}
		return decoded[wire.FeedPage](t, got.text)
	}
	var told []string
	for after := ""; ; {
		page := read("?limit=1&after=" + after)
		if len(page.Items) == 0 {
			break
		}
		for _, e := range page.Items {
			told = append(told, e.Type+" "+e.RunID)
		}
		after = page.Next
	}
	want := "call.suspended " + run.ID + ", decision.recorded " + run.ID + ", run.status " + run.ID + ", call.suspended " + waits.ID
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	all := read("")
	if c := all.Counts; c == nil || c.Waiting != 1 || c.Kinds["approval"] != 1 {
		t.Errorf("counts: %+v", c)
	}
	if tail := read("?from=tail&wait=1"); len(tail.Items) != 0 || tail.Next == "" || tail.Counts == nil {
		t.Errorf("the tail: %+v", tail)
	}
	if again := read("?after=" + all.Next); len(again.Items) != 0 || again.Counts != nil {
		t.Errorf("nothing new: %+v", again)
	}
	if some := read("?types=decision.recorded,run.status&agent=desk"); len(some.Items) != 2 {
		t.Errorf("some types: %+v", some)
	}
	if none := read("?agent=another"); len(none.Items) != 0 {
		t.Errorf("of another agent: %+v", none)
	}
}

func TestWhatIsWrongWithARequestForTheEventsOfATenant(t *testing.T) {
	s := newServer(t, settings{})
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ query, accept, code string }{
		{"?after=x", wantsPage, "bad_cursor"}, {"?after=x", "text/event-stream", "bad_cursor"}, {"?after=" + long, wantsPage, "bad_cursor"},
		{"?types=text.ended", wantsPage, "invalid_request"}, {"?types=,", "text/event-stream", "invalid_request"},
		{"?from=start", wantsPage, "invalid_request"}, {"?limit=-1", wantsPage, "invalid_request"}, {"?wait=soon", wantsPage, "invalid_request"},
		{"?wait=1", "text/event-stream", "invalid_request"}, {"?limit=1", "text/event-stream", "invalid_request"},
		{"?follow=true", "text/event-stream", "unknown_field"}, {"?types=run.status&types=run.status", wantsPage, "invalid_request"},
	} {
		if got := s.send("GET", "/v1/events"+c.query, "", header("Accept", c.accept)); got.problem(t).Code != c.code {
			t.Errorf("%.80s as %s: %d %.200s", c.query, c.accept, got.StatusCode, got.text)
		}
	}
}

// streamed are the types of the events of a stream, and the last id.
func streamed(text string) (types []string, last string) {
	for line := range strings.SplitSeq(text, "\n") {
		if of, found := strings.CutPrefix(line, "event: "); found {
			types = append(types, of)
		}
		if id, found := strings.CutPrefix(line, "id: "); found {
			last = id
		}
	}
	return types, last
}

func TestTheEventsOfATenantAsAStream(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	s.decided("secret")
	first := s.send("GET", "/v1/events", "", bearer("secret"))
	types, last := streamed(first.text)
	if got := strings.Join(types, " "); got != "call.suspended decision.recorded run.status counts" || !strings.Contains(first.text, `data: {"at_least":false,"kinds":{},"waiting":0}`) && !strings.Contains(first.text, `"waiting":0`) {
		t.Errorf("at first: %s\n%s", got, first.text)
	}
	waits := s.startAs("secret")
	s.worker.Suspend(waits.ID, refundCall)
	again := s.send("GET", "/v1/events", "", bearer("secret"), header("Last-Event-ID", last))
	if types, _ := streamed(again.text); strings.Join(types, " ") != "call.suspended counts" {
		t.Errorf("opened again: %s", again.text)
	}
	tail := s.send("GET", "/v1/events?from=tail&types=run.status", "", bearer("secret"))
	if types, last := streamed(tail.text); strings.Join(types, " ") != "counts" || last == "" {
		t.Errorf("the tail: %s", tail.text)
	}
}

// follow opens a stream of a feed, and gives what it sends line by line.
func (s *server) follow(query, token string) (next func() string, status int) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/v1/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func() string {
		for lines.Scan() {
			if of, found := strings.CutPrefix(lines.Text(), "event: "); found {
				lines.Scan()
				return of + " " + strings.TrimPrefix(lines.Text(), "data: ")
			}
		}
		return ""
	}, resp.StatusCode
}

func TestAFollowerOfATenantIsToldAtOnce(t *testing.T) {
	s := newServer(t, settings{token: "secret", clock: realClock{}})
	next, status := s.follow("?from=tail", "secret")
	if got := next(); status != 200 || !strings.Contains(got, `"waiting":0`) {
		t.Fatalf("%d: %s", status, got)
	}
	for n, want := range []string{`"waiting":1`, `"waiting":2`} {
		run := s.startAs("secret")
		s.worker.Suspend(run.ID, refundCall)
		if got := next(); !strings.HasPrefix(got, "call.suspended ") || !strings.Contains(got, run.ID) {
			t.Fatalf("%d: %s", n, got)
		}
		if got := next(); !strings.HasPrefix(got, "counts ") || !strings.Contains(got, want) {
			t.Fatalf("%d: %s", n, got)
		}
	}
}

func TestWhoMayReadTheEventsOfATenant(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("reader", "default", "reads", access.Read), grant("approver", "default", "decides", access.Decide),
		grant("mailer", "default", "links", access.Links), grant("starter", "default", "starts", access.Start), grant("stranger", "zoo", "theirs", access.Admin)}})
	s.decided("secret")
	for _, path := range []string{"/v1/events?types=decision.recorded", "/v1/decisions"} {
		for token, want := range map[string]string{"reads": "B-2", "secret": "B-2", "decides": "fine", "links": "fine", "starts": "role_required", "theirs": `"items":[]`, "none": "unauthorized"} {
			got := s.send("GET", path, "", bearer(token), header("Accept", wantsPage))
			if !strings.Contains(got.text, want) || want != "B-2" && strings.Contains(got.text, "B-2") {
				t.Errorf("%s for %s: %d %s", path, token, got.StatusCode, got.text)
			}
		}
	}
	got := s.send("GET", "/v1/events", "", bearer("decides"))
	if types, _ := streamed(got.text); len(types) != 4 || strings.Contains(got.text, "B-2") || strings.Contains(got.text, "A-17") || strings.Contains(got.text, "may it?") ||
		!strings.Contains(got.text, `"tool_name":"refund"`) {
		t.Errorf("a stream for one who decides: %s", got.text)
	}
	if all := s.send("GET", "/v1/events", "", bearer("reads")); !strings.Contains(all.text, "A-17") || !strings.Contains(all.text, "may it?") {
		t.Errorf("a stream for one who reads: %s", all.text)
	}
}

func TestAStreamOfATenantDoesNotOutliveItsToken(t *testing.T) {
	for name, then := range map[string]*access.Principal{
		"it is taken away":           nil,
		"it may not read any more":   {Tenant: "default", Name: "test", Roles: []access.Role{access.Decide}},
		"it is another tenant's now": {Tenant: "zoo", Name: "test", Roles: []access.Role{access.Admin}},
	} {
		t.Run(name, func(t *testing.T) {
			known := &changing{Keys: access.NewKeys(grant("test", "default", "secret", access.Admin))}
			s := newServer(t, settings{token: "secret", clock: realClock{}, options: func(o *httpapi.Options) { o.Keys, o.Limits.KeepAlive = known, 20*time.Millisecond }})
			next, _ := s.follow("", "secret")
			known.change(then)
			for next() != "" { // ends, or the test hangs
			}
		})
	}
}

func TestAStreamOfATenantIsServedElsewhere(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret", clock: frontendtest.NewClock(), grants: []access.Grant{grant("approver", "default", "decides", access.Decide)}})
	s.decided("secret")
	s.http.CheckRedirect = stay
	for token, shown := range map[string]bool{"secret": true, "decides": false} {
		sent := s.send("GET", "/v1/events?types=decision.recorded&agent=desk", "", bearer(token))
		location := sent.Header.Get("Location")
		if sent.StatusCode != 307 || !strings.HasPrefix(location, streams.url+"/v1/streams/") {
			t.Fatalf("%d %s %s", sent.StatusCode, location, sent.text)
		}
		got := streams.send("GET", strings.TrimPrefix(location, streams.url), "")
		if types, _ := streamed(got.text); strings.Join(types, " ") != "decision.recorded counts" || strings.Contains(got.text, "B-2") != shown {
			t.Errorf("for %s: %d %s", token, got.StatusCode, got.text)
		}
	}
	tail := s.send("GET", "/v1/events?from=tail", "", bearer("secret"))
	if got := streams.send("GET", strings.TrimPrefix(tail.Header.Get("Location"), streams.url), ""); strings.Contains(got.text, "run.status") {
		t.Errorf("the tail: %s", got.text)
	}
	if got := s.send("GET", "/v1/events?after=x", "", bearer("secret")); got.problem(t).Code != "bad_cursor" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// inboxes counts how often the inbox is read.
type inboxes struct {
	frontend.Store
	read atomic.Int32
}

func (s *inboxes) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	s.read.Add(1)
	return s.Store.Approvals(ctx, tenant, cursor, limit)
}

func TestAnIdleStreamOfATenantCountsNothing(t *testing.T) {
	counted := &inboxes{}
	s := newServer(t, settings{token: "secret", clock: realClock{}, options: func(o *httpapi.Options) { o.Limits.KeepAlive = 20 * time.Millisecond },
		wrap: func(store frontend.Store) frontend.Store { counted.Store = store; return counted }})
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	idle := 0
	for lines := bufio.NewScanner(resp.Body); idle < 5 && lines.Scan(); {
		if lines.Text() == ": nothing yet" {
			idle++
		}
	}
	if n := counted.read.Load(); idle != 5 || n != 1 {
		t.Errorf("the inbox was read %d times in %d looks at a feed without news", n, idle)
	}
}

func TestStreamsOfTenantsCountAsStreams(t *testing.T) {
	s := newServer(t, settings{token: "ours", clock: realClock{}, options: func(o *httpapi.Options) { o.Limits.TenantStreams = 1 }})
	next, _ := s.follow("", "ours")
	next()
	if got := s.send("GET", "/v1/events", "", bearer("ours")); got.StatusCode != 429 || got.problem(t).Code != "too_many_streams" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestTheDecisionsOfATenant(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	older, newer := s.decided("secret"), s.decided("secret")
	for query, want := range map[string][]string{
		"":         {newer.ID, older.ID},
		"?limit=1": {newer.ID}, "?by=token:test&via=api&agent=desk&action=resume": {newer.ID, older.ID},
		"?by=nobody": nil, "?action=cancel": nil, "?via=link": nil, "?agent=another": nil,
		"?created_after=2026-01-01T00:00:00Z&created_before=2027-01-01T00:00:00Z": {newer.ID, older.ID},
		"?created_after=2027-01-01T00:00:00Z":                                     nil, "?created_before=2026-01-01T00:00:00%2B01:00": nil,
	} {
		got := s.send("GET", "/v1/decisions"+query, "", bearer("secret"))
		page := decoded[wire.DecisionPage](t, got.text)
		var runs []string
		for _, d := range page.Items {
			runs = append(runs, d.RunID)
		}
		if got.StatusCode != 200 || strings.Join(runs, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
	for query, code := range map[string]string{"?cursor=x": "bad_cursor", "?limit=x": "invalid_request", "?action=maybe": "invalid_request", "?created_after=now": "invalid_request",
		"?created_before=12:00": "invalid_request", "?status=done": "unknown_field"} {
		if got := s.send("GET", "/v1/decisions"+query, "", bearer("secret")); got.problem(t).Code != code {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
}
