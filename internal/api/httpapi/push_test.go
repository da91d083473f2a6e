package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// outpost is a run that waits for a remote agent and looks at its task in an hour, and the address
// where that agent sends news.
func (s *server) outpost() (run string, at access.Push) {
	s.t.Helper()
	run = s.worker.Delegate(s.start().ID, frontendtest.Call{ID: "c1", Tool: "review"}, "the-token", s.worker.Clock.Now().Add(time.Hour).UnixMilli())
	s.pass(time.Minute)
	return run, access.Push{Tenant: access.Tenant, Run: run, Token: "the-token"}
}

func (s *server) push(at access.Push, body string) answer {
	s.t.Helper()
	return s.send("POST", access.PushPath+at.Text(), body)
}

func (s *server) knows(run string) bool {
	s.t.Helper()
	h, err := s.worker.Store.Load(s.t.Context(), access.Tenant, threadOf(run))
	if err != nil {
		s.t.Fatal(err)
	}
	_, known := h.Inbox[core.KeyNews]
	return known
}

func TestAPushIsStoredOnceWhateverItSays(t *testing.T) {
	for _, body := range []string{"", `{"statusUpdate":{}}`, "{", strings.Repeat("x", 64<<10)} {
		s := newServer(t, settings{token: "secret"})
		run, at := s.outpost()
		for range 3 { // it needs no token
			if got := s.unchecked("POST", access.PushPath+at.Text(), body, header("Authorization", "")); got.StatusCode != 204 || got.text != "" {
				t.Errorf("%.20q: %d %s", body, got.StatusCode, got.text)
			}
		}
		if !s.knows(run) {
			t.Errorf("%.20q: the run knows nothing", body)
		}
	}
}

func TestAPushToAWrongAddressIsRefusedAlike(t *testing.T) {
	s := newServer(t, settings{})
	run, at := s.outpost()
	want := ""
	for name, wrong := range map[string]access.Push{
		"a wrong token":   {Tenant: at.Tenant, Run: run, Token: "another"},
		"another tenant":  {Tenant: "zoo", Run: run, Token: at.Token},
		"an unknown run":  {Tenant: at.Tenant, Run: "run_nobody_0", Token: at.Token},
		"a run of no one": {Tenant: at.Tenant, Run: s.start().ID, Token: at.Token},
		"no token":        {Tenant: at.Tenant, Run: run},
		"no tenant":       {Run: run, Token: at.Token},
	} {
		got := s.push(wrong, "{}")
		if p := got.problem(t); got.StatusCode != 404 || p.Code != "not_found" || want != "" && want != got.text {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
		want = got.text
	}
	if s.knows(run) {
		t.Error("the run knows of news")
	}
}

func TestPushesAreBounded(t *testing.T) {
	s := newServer(t, settings{})
	_, at := s.outpost()
	if got := s.push(at, strings.Repeat("x", 64<<10+1)); got.StatusCode != 413 || got.problem(t).Code != "too_large" {
		t.Errorf("a large one: %d %s", got.StatusCode, got.text)
	}
	statuses := map[int]int{}
	for range 1000 {
		got := s.push(at, "{}")
		if statuses[got.StatusCode]++; got.StatusCode == http.StatusTooManyRequests && (got.problem(t).Code != "rate_limited" || got.Header.Get("Retry-After") == "") {
			t.Fatalf("%s", got.text)
		}
	}
	if statuses[204] == 0 || statuses[429] < 800 || statuses[204]+statuses[429] != 1000 {
		t.Errorf("statuses %v", statuses)
	}
	if _, other := s.outpost(); s.push(other, "{}").StatusCode != 204 {
		t.Error("another address has to wait")
	}
}

func TestAPushThatEndsEarlyIsRefused(t *testing.T) {
	var api http.Handler
	s := newServer(t, settings{before: func(h http.Handler) http.Handler { api = h; return h }})
	run, at := s.outpost()
	r := httptest.NewRequestWithContext(t.Context(), "POST", access.PushPath+at.Text(), iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader([]byte("{}")))))
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "malformed_body") || s.knows(run) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The address is a secret, which no view of the run shows.
func TestTheTokenOfPushesIsShownNowhere(t *testing.T) {
	s := newServer(t, settings{})
	run, at := s.outpost()
	s.push(at, "{}")
	root := s.send("GET", "/v1/runs/"+run, "").text
	for _, path := range []string{"/v1/runs/" + run, "/v1/runs/" + run + "/events", "/v1/runs", "/v1/threads/" + threadOf(run), "/v1/threads/" + threadOf(run) + "/messages"} {
		got := s.send("GET", path, "", header("Accept", "application/json"))
		if got.StatusCode != 200 || strings.Contains(got.text, at.Token) || strings.Contains(got.text, at.Text()) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
	if want := `"remote":{"tool":"review","task_id":"task-81","context_id":"ctx-12","url":"https://reviews.example.com/a2a","next_look_at":"2026-03-01T13:00:00.000Z"}`; !strings.Contains(root, want) {
		t.Errorf("%s\nhas no %s", root, want)
	}
}
