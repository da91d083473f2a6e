package httpapi_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func TestAcceptChoosesBetweenAStreamAndAPage(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Finish(run.ID, "done")
	for accept, want := range map[string]string{
		"":                                    "text/event-stream",
		"*/*":                                 "text/event-stream",
		"text/event-stream":                   "text/event-stream",
		"application/json":                    "application/json",
		"application/json, text/event-stream": "text/event-stream",
		"text/event-stream;q=0.5, application/json":     "application/json",
		"application/json; charset=utf-8, */*;q=0.1":    "application/json",
		"text/html,application/xhtml+xml,*/*;q=0.8":     "text/event-stream",
		"application/json;q=nonsense, ,;;, a/b/c;q=0.1": "application/json",
	} {
		got := s.send("GET", "/v1/runs/"+run.ID+"/events", "", header("Accept", accept))
		if media := got.Header.Get("Content-Type"); got.StatusCode != 200 || media != want {
			t.Errorf("Accept: %s: %d %s", accept, got.StatusCode, media)
		}
	}
}

func TestAStreamIsRefusedLikeAnythingElse(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	for path, code := range map[string]string{
		"/v1/runs/run_none_0/events":               "run_not_found",
		"/v1/runs/" + run.ID + "/events?after=x":   "bad_cursor",
		"/v1/runs/" + run.ID + "/events?wait=3":    "invalid_request",
		"/v1/runs/" + run.ID + "/events?limit=3":   "invalid_request",
		"/v1/runs/" + run.ID + "/events?follow=no": "invalid_request",
		"/v1/runs/" + run.ID + "/events?x=1":       "unknown_field",
	} {
		if got := s.send("GET", path, "", header("Accept", "text/event-stream")); got.problem(t).Code != code {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

// open opens a stream and reads its first line.
func (s *server) open(run, token string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/v1/runs/"+run+"/events?follow=true", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// realClock lets streams be open for a while, which with the others is over at once.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }
func (realClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

func TestATenantMayHaveSoManyStreamsOpenAndOthersAllTheSame(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("stranger", "zoo", "theirs", access.Admin)}, clock: realClock{},
		options: func(o *httpapi.Options) { o.Limits.TenantStreams, o.Limits.Streams = 2, 3 }})
	ours, theirs := s.start(), s.startAs("theirs")
	first, second := s.open(ours.ID, "ours"), s.open(ours.ID, "ours")
	defer second.Body.Close()
	if first.StatusCode != 200 || second.StatusCode != 200 {
		t.Fatal(first.Status, second.Status)
	}
	third := s.send("GET", "/v1/runs/"+ours.ID+"/events", "", bearer("ours"))
	if third.StatusCode != 429 || third.problem(t).Code != "too_many_streams" || third.Header.Get("Retry-After") == "" {
		t.Errorf("a third: %d %s", third.StatusCode, third.text)
	}
	other := s.open(theirs.ID, "theirs")
	defer other.Body.Close()
	if other.StatusCode != 200 {
		t.Errorf("of another tenant: %d", other.StatusCode)
	}
	if more := s.send("GET", "/v1/runs/"+theirs.ID+"/events", "", bearer("theirs")); more.StatusCode != 429 {
		t.Errorf("more than all may have: %d", more.StatusCode)
	}
	first.Body.Close()
	for { // until the place of the stream that was closed is free
		again := s.open(ours.ID, "ours")
		again.Body.Close()
		if again.StatusCode == 200 {
			return
		}
	}
}

func TestASilentStreamIsKeptOpenWithComments(t *testing.T) {
	s := newServer(t, settings{clock: realClock{}, options: func(o *httpapi.Options) { o.Limits.KeepAlive = 20 * time.Millisecond }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	resp := s.open(run.ID, "")
	defer resp.Body.Close()
	comments := 0
	for lines := bufio.NewScanner(resp.Body); comments < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	if comments < 3 {
		t.Error("the stream ended, or was silent")
	}
}

func TestAStreamDoesNotOutliveItsToken(t *testing.T) {
	for name, then := range map[string]*access.Principal{
		"it is taken away":           nil,
		"it may not read any more":   {Tenant: "default", Name: "test", Roles: []access.Role{access.Start}},
		"it is another tenant's now": {Tenant: "zoo", Name: "test", Roles: []access.Role{access.Admin}},
	} {
		t.Run(name, func(t *testing.T) { streamOutlives(t, then) })
	}
}

func streamOutlives(t *testing.T, then *access.Principal) {
	known := &changing{Keys: access.NewKeys(grant("test", "default", "secret", access.Admin))}
	s := newServer(t, settings{token: "secret", clock: realClock{},
		options: func(o *httpapi.Options) { o.Keys, o.Limits.KeepAlive = known, 20*time.Millisecond }})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	resp := s.open(run.ID, "secret")
	defer resp.Body.Close()
	known.change(then)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); { // ends, or the test hangs
	}
}
