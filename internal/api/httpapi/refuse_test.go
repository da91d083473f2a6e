package httpapi_test

import (
	"context"
	"fmt"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestRefusalsAreProblemDocuments(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	long := strings.Repeat("x", 5000)
	ok := `{"agent":"desk","input":"x"}`
	for _, tt := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		status                   int
		code, detail             string
	}{
		{"no such path", "GET", "/v2/runs", "", nil, 404, "not_found", ""},
		{"the root", "GET", "/", "", nil, 404, "not_found", ""},
		{"another method of a path that looks like an id", "DELETE", "/v1/webhooks/disabled", "", nil, 405, "method_not_allowed", "DELETE"},
		{"another method", "DELETE", "/v1/runs/" + run.ID, "", nil, 405, "method_not_allowed", "DELETE"},
		{"an unknown run", "GET", "/v1/runs/run_nobody_0", "", nil, 404, "run_not_found", ""},
		{"an id of absurd length", "GET", "/v1/runs/run_" + long + "_0", "", nil, 404, "run_not_found", ""},
		{"a thread id of absurd length", "GET", "/v1/threads/thr_" + long, "", nil, 404, "thread_not_found", ""},
		{"an unknown agent", "GET", "/v1/agents/nobody", "", nil, 404, "agent_not_found", ""},
		{"no JSON", "POST", "/v1/runs", "agent", nil, 400, "malformed_body", ""},
		{"no body", "POST", "/v1/runs", " ", nil, 400, "malformed_body", ""},
		{"something behind the value", "POST", "/v1/runs", ok + " {}", nil, 400, "malformed_body", ""},
		{"a list", "POST", "/v1/runs", "[]", nil, 400, "malformed_body", "object"},
		{"null", "POST", "/v1/runs", "null", nil, 400, "malformed_body", "object"},
		{"a member twice", "POST", "/v1/runs", `{"agent":"desk","agent":"desk","input":"x"}`, nil, 400, "malformed_body", `"agent"`},
		{"a member twice, deep down", "POST", "/v1/runs/" + run.ID + "/decisions", `{"target":"c1","result":[{"approved":false,"x":[],"approved":true}]}`, nil, 400, "malformed_body", `"approved"`},
		{"not UTF-8", "POST", "/v1/runs", "{\"agent\":\"desk\",\"input\":\"\xff\"}", nil, 400, "malformed_body", "UTF-8"},
		{"a wrong type", "POST", "/v1/runs", `{"agent":7,"input":"x"}`, nil, 400, "malformed_body", `"agent"`},
		{"an unknown field", "POST", "/v1/runs", `{"agent":"desk","input":"x","colour":1}`, nil, 400, "unknown_field", `"colour"`},
		{"a field in capitals", "POST", "/v1/runs", `{"Agent":"desk","input":"x"}`, nil, 400, "unknown_field", `"Agent"`},
		{"an unknown field in one of several decisions", "POST", "/v1/runs/" + run.ID + "/decisions", `{"decisions":[{"target":"c1","actoin":"resume"}]}`, nil, 400, "unknown_field", `"actoin"`},
		{"C130 neither input nor decision: a start", "POST", "/v1/runs", `{"agent":"desk"}`, nil, 400, "invalid_request", "input"},
		{"C130 neither input nor decision: a message", "POST", "/v1/threads/" + run.ThreadID + "/messages", `{}`, nil, 400, "invalid_request", "input"},
		{"C130 neither input nor decision: a decision", "POST", "/v1/runs/" + run.ID + "/decisions", `{}`, nil, 400, "invalid_request", "target"},
		{"an on_pending that is none", "POST", "/v1/threads/" + run.ThreadID + "/messages", `{"input":"x","on_pending":"wait"}`, nil, 400, "invalid_request", "on_pending"},
		{"permissions too large", "POST", "/v1/runs", `{"agent":"desk","input":"x","permissions":["` + long + `"]}`, nil, 400, "invalid_permissions", "1024"},
		{"a target without a secret", "POST", "/v1/runs", `{"agent":"desk","input":"x","notify":[{"name":"ci","on":["done"],"url":"https://ci.example.com/"}]}`, nil, 400, "invalid_request", "notify[0].secret"},
		{"a target at a private address", "POST", "/v1/runs", `{"agent":"desk","input":"x","notify":[{"name":"ci","on":["done"],"url":"https://10.0.0.8/","secret":"CALLBACK_A","allow_private":true}]}`, nil, 400, "unknown_field", `"notify[0].allow_private"`},
		{"a body with an interrupt", "POST", "/v1/runs/" + run.ID + "/interrupt", `{"force":true}`, nil, 400, "unknown_field", `"force"`},
		{"a result with a resume", "POST", "/v1/runs/" + run.ID + "/resume", `{"result":true}`, nil, 400, "unknown_field", `"result"`},
		{"a resume of a run that is not interrupted", "POST", "/v1/runs/" + run.ID + "/resume", "", nil, 409, "not_waiting", ""},
		{"a body with a retry", "POST", "/v1/runs/" + run.ID + "/retry", `{"input":"x"}`, nil, 400, "unknown_field", `"input"`},
		{"a retry of an open run", "POST", "/v1/runs/" + run.ID + "/retry", "", nil, 409, "run_open", ""},
		{"C199 a retry of an unknown run", "POST", "/v1/runs/run_nobody_0/retry", "", nil, 404, "run_not_found", ""},
		{"C199 a decision for an unknown run", "POST", "/v1/runs/run_nobody_0/decisions", `{"target":"c1","action":"resume"}`, nil, 404, "run_not_found", ""},
		{"no decisions", "POST", "/v1/runs/" + run.ID + "/decisions", `{"decisions":[]}`, nil, 400, "invalid_request", ""},
		{"an unknown parameter", "GET", "/v1/runs?colour=1", "", nil, 400, "unknown_field", `"colour"`},
		{"a limit that is no number", "GET", "/v1/runs?limit=x", "", nil, 400, "invalid_request", "limit"},
		{"a bad cursor", "GET", "/v1/runs/" + run.ID + "/events?after=x", "", nil, 400, "bad_cursor", ""},
		{"too large", "POST", "/v1/runs", `{"agent":"desk","input":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "too_large", ""},
		{"another media type", "POST", "/v1/runs", ok, header("Content-Type", "text/plain"), 415, "unsupported_media_type", ""},
		{"a key of absurd length", "POST", "/v1/runs", ok, header("Idempotency-Key", long), 400, "invalid_request", "key"},
		{"C125 a bad action before the look-up", "POST", "/v1/runs/run_nobody_0/decisions", `{"target":"c1","action":"invalid_action"}`, nil, 400, "bad_action", ""},
		{"a page of another site", "POST", "/v1/runs", ok, header("Sec-Fetch-Site", "cross-site"), 403, "forbidden", ""},
		{"an empty segment", "GET", "/v1//runs", "", nil, 404, "not_found", ""},
		{"a dotted path", "GET", "/v1/threads/x/../../runs", "", nil, 404, "not_found", ""},
		{"a start at a path that is not clean", "POST", "/v1//runs", ok, nil, 404, "not_found", ""},
		{"an encoded slash in an id", "GET", "/v1/runs/run_a%2F..%2Fb_0", "", nil, 404, "run_not_found", ""},
		{"a zero byte in an id", "GET", "/v1/runs/run_%00_0", "", nil, 404, "run_not_found", ""},
		{"a parameter with a start", "POST", "/v1/runs?agent=other", ok, nil, 400, "unknown_field", `"agent"`},
		{"a parameter with a cancel", "POST", "/v1/runs/" + run.ID + "/cancel?force=1", "", nil, 400, "unknown_field", `"force"`},
		{"not a number", "POST", "/v1/runs", `{"agent":"desk","input":NaN}`, nil, 400, "malformed_body", ""},
		{"nested too deep", "POST", "/v1/runs", `{"agent":"desk","input":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, nil, 400, "malformed_body", ""},
		{"a foreign host name", "GET", "/v1/runs", "", func(r *http.Request) { r.Host = "rebound.example:80" }, 403, "forbidden", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*http.Request) {}
			}
			got := s.send(tt.method, tt.path, tt.body, change)
			p := got.problem(t)
			if got.StatusCode != tt.status || p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %d %+v, want %d %s with %s", got.StatusCode, p, tt.status, tt.code, tt.detail)
			}
		})
	}
	if page := s.send("GET", "/v1/runs", ""); strings.Count(page.text, `"id":"run_`) != 1 {
		t.Errorf("something was stored: %s", page.text)
	}
}

func TestAllowListsTheMethods(t *testing.T) {
	s := newServer(t, settings{})
	got := s.send("DELETE", "/v1/runs", "")
	if allow := got.Header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		t.Errorf("Allow: %q", allow)
	}
}

func TestTokens(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("other", "default", "another", access.Read)}})
	for name, tt := range map[string]struct {
		path, authorization string
		status              int
	}{
		"HB22 no token":  {"/v1/runs", "", 401},
		"a wrong one":    {"/v1/runs", "Bearer guess", 401},
		"another scheme": {"/v1/runs", "Basic secret", 401},
		"the hash":       {"/v1/runs", "Bearer 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", 401},
		"the token":      {"/v1/runs", "bearer secret", 200},
		"the other one":  {"/v1/runs", "Bearer another", 200},
		"health":         {"/healthz", "", 200},
		"no such path":   {"/nowhere", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.send("GET", tt.path, "", func(r *http.Request) {
				r.Header.Set("Authorization", tt.authorization)
				r.Host = "api.example"
			})
			if got.StatusCode != tt.status {
				t.Errorf("got %d %s, want %d", got.StatusCode, got.text, tt.status)
			}
			if tt.status == 401 && (got.problem(t).Code != "unauthorized" || got.Header.Get("WWW-Authenticate") != "Bearer") {
				t.Errorf("answer %s", got.text)
			}
		})
	}
}

func TestLoopbackNamesAreServedWithoutTokens(t *testing.T) {
	s := newServer(t, settings{})
	for host, want := range map[string]int{"localhost:8420": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]:8420": 200,
		"192.168.1.7:8420": 403, "localhost.example": 403, "": 200} {
		if got := s.send("GET", "/healthz", "", func(r *http.Request) { r.Host = host }); got.StatusCode != want {
			t.Errorf("host %q: got %d, want %d", host, got.StatusCode, want)
		}
	}
}

// brokenStore fails in the ways a store should not.
type brokenStore struct {
	frontend.Store
	load func() error
}

func (s brokenStore) Load(context.Context, string, string) (core.Head, error) {
	return core.Head{}, s.load()
}

func TestFaultsShowNothingOfTheInside(t *testing.T) {
	for _, tt := range []struct {
		name   string
		load   func() error
		status int
		code   string
		retry  string
	}{
		{"an unknown error", func() error { return fmt.Errorf("disk secret-path is full") }, 500, "internal", ""},
		{"a panic", func() error { panic("secret-path") }, 500, "internal", ""},
		{"HB25 a store that does not answer", func() error { return fmt.Errorf("secret-path: %w", engine.ErrUnavailable) }, 503, "unavailable", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, settings{wrap: func(f frontend.Store) frontend.Store { return brokenStore{f, tt.load} }})
			got := s.send("GET", "/v1/runs/run_x_0", "")
			p := got.problem(t)
			if got.StatusCode != tt.status || p.Code != tt.code || got.Header.Get("Retry-After") != tt.retry || strings.Contains(got.text, "secret") {
				t.Errorf("got %d %s, Retry-After %q", got.StatusCode, got.text, got.Header.Get("Retry-After"))
			}
		})
	}
}

func TestWhatACallerWroteIsShownClipped(t *testing.T) {
	s := newServer(t, settings{})
	name := strings.Repeat("\u00e9", 200_000)
	for _, body := range []string{`{"` + name + `":1}`, `{"a":{"` + name + `":1,"` + name + `":1}}`} {
		got := s.send("POST", "/v1/runs", body)
		if p := got.problem(t); got.StatusCode != 400 || len(got.text) > 1000 || !strings.Contains(p.Detail, "\u00e9") {
			t.Errorf("%d with %d bytes", got.StatusCode, len(got.text))
		}
	}
}
