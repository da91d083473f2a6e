package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

// everyCall is every call there is, about a run and its thread, with a body that is right in form.
func everyCall(run, thread, target string) map[string]string {
	return map[string]string{
		"POST /v1/runs/" + run + "/decisions":      `{"target":"` + target + `","action":"resume"}`,
		"POST /v1/runs/" + run + "/cancel":         "",
		"POST /v1/runs/" + run + "/interrupt":      "",
		"POST /v1/runs/" + run + "/resume":         "",
		"POST /v1/runs/" + run + "/retry":          "",
		"GET /v1/runs/" + run:                      "",
		"GET /v1/runs/" + run + "/events":          "",
		"GET /v1/threads/" + thread:                "",
		"GET /v1/threads/" + thread + "/messages":  "",
		"GET /v1/threads/" + thread + "/runs":      "",
		"POST /v1/threads/" + thread + "/messages": `{"input":"hello","on_pending":"abandon"}`,
		"POST /v1/runs":                            `{"agent":"desk","input":"hello","thread_id":"` + thread + `","on_pending":"abandon"}`,
	}
}

func TestWhatBelongsToAnotherTenantIsNotThere(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("stranger", "zoo", "theirs", access.Admin)}})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	before := s.send("GET", "/v1/runs/"+run.ID, "", bearer("ours")).text
	for call, body := range everyCall(run.ID, run.ThreadID, sus) {
		method, path, _ := strings.Cut(call, " ")
		theirs := s.send(method, path, body, bearer("theirs"), header("Accept", "application/json"))
		nowhere := s.send(method, strings.ReplaceAll(strings.ReplaceAll(path, run.ID, "run_nowhere_0"), run.ThreadID, "thr_nowhere"),
			strings.ReplaceAll(body, run.ThreadID, "thr_nowhere"), bearer("theirs"), header("Accept", "application/json"))
		if theirs.StatusCode != 404 || theirs.text != nowhere.text {
			t.Errorf("%s: %d %s; of one that never was: %d %s", call, theirs.StatusCode, theirs.text, nowhere.StatusCode, nowhere.text)
		}
	}
	for _, list := range []string{"/v1/runs", "/v1/approvals"} {
		if got := s.send("GET", list, "", bearer("theirs")); !strings.Contains(got.text, `"items":[]`) {
			t.Errorf("%s: %s", list, got.text)
		}
	}
	if after := s.send("GET", "/v1/runs/"+run.ID, "", bearer("ours")).text; after != before {
		t.Errorf("something was stored: %s", after)
	}
}

func TestTheSameKeyOfTwoTenantsStartsTwoRuns(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("stranger", "zoo", "theirs", access.Admin)}})
	body, key := `{"agent":"desk","input":"hello"}`, header("Idempotency-Key", "k1")
	ours, theirs := s.send("POST", "/v1/runs", body, bearer("ours"), key), s.send("POST", "/v1/runs", body, bearer("theirs"), key)
	if ours.StatusCode != 202 || theirs.StatusCode != 202 || ours.Header.Get("Location") == theirs.Header.Get("Location") {
		t.Errorf("%d %s, %d %s", ours.StatusCode, ours.text, theirs.StatusCode, theirs.text)
	}
}

// Every call, by a token with each single role: the table says who may, and this says it once more.
func TestATokenMayWhatItsRoleSays(t *testing.T) {
	may := map[access.Role]string{
		access.Start:  "start message interrupt cancel retry me",
		access.Read:   "run runs events thread messages approvals agents agent usage ops me",
		access.Decide: "decide interrupt cancel resume approvals me",
		access.Admin:  "start message interrupt cancel retry run runs events thread messages approvals agents agent usage ops decide resume me",
	}
	calls := map[string]struct{ method, path, body string }{
		"start":     {"POST", "/v1/runs", `{"agent":"desk","input":"hello"}`},
		"message":   {"POST", "/v1/threads/thr_none/messages", `{"input":"hello"}`},
		"interrupt": {"POST", "/v1/runs/run_none_0/interrupt", ""},
		"cancel":    {"POST", "/v1/runs/run_none_0/cancel", ""},
		"retry":     {"POST", "/v1/runs/run_none_0/retry", ""},
		"resume":    {"POST", "/v1/runs/run_none_0/resume", ""},
		"decide":    {"POST", "/v1/runs/run_none_0/decisions", `{"target":"c1","action":"resume"}`},
		"run":       {"GET", "/v1/runs/run_none_0", ""},
		"runs":      {"GET", "/v1/runs", ""},
		"events":    {"GET", "/v1/runs/run_none_0/events", ""},
		"thread":    {"GET", "/v1/threads/thr_none", ""},
		"messages":  {"GET", "/v1/threads/thr_none/messages", ""},
		"approvals": {"GET", "/v1/approvals", ""},
		"agents":    {"GET", "/v1/agents", ""},
		"usage":     {"GET", "/v1/usage", ""},
		"me":        {"GET", "/v1/me", ""},
		"ops":       {"GET", "/v1/ops", ""},
		"agent":     {"GET", "/v1/agents/desk", ""},
	}
	var grants []access.Grant
	for role := range may {
		grants = append(grants, grant(string(role), "default", "token of "+string(role), role))
	}
	s := newServer(t, settings{grants: grants})
	for role, allowed := range may {
		for name, call := range calls {
			got := s.send(call.method, call.path, call.body, bearer("token of "+string(role)))
			if refused := got.StatusCode == 403; refused == contains(allowed, name) {
				t.Errorf("%s by a token with %s: %d %s", name, role, got.StatusCode, got.text)
			} else if refused && got.problem(t).Code != "role_required" {
				t.Errorf("%s by a token with %s: %s", name, role, got.text)
			}
		}
	}
}

// The answer to one who may start and not read shows that it was done, and not what the run says or
// asks.
func TestWhoMayNotReadIsNotShownTheRunEither(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("starter", "default", "starts", access.Start), grant("decider", "default", "decides", access.Decide)}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"card":"4111"}`)})
	for _, path := range []string{"/v1/runs/" + run.ID + "/interrupt", "/v1/runs/" + run.ID + "/cancel"} {
		for token, sees := range map[string]bool{"starts": false, "decides": true} {
			if got := s.send("POST", path, "", bearer(token)); got.StatusCode != 202 || strings.Contains(got.text, "4111") != sees && strings.HasSuffix(path, "interrupt") {
				t.Errorf("%s by one who %s: %d %s", path, token, got.StatusCode, got.text)
			}
		}
	}
}

func TestAHeaderThatIsThereTwiceIsRefused(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	twice := func(name, second string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Add(name, second) }
	}
	got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"x"}`, bearer("secret"), header("Idempotency-Key", "k1"), twice("Idempotency-Key", "k2"))
	if got.StatusCode != 400 || got.problem(t).Code != "invalid_request" {
		t.Errorf("two keys: %d %s", got.StatusCode, got.text)
	}
	got = s.send("GET", "/v1/runs", "", bearer("secret"), twice("Authorization", "Bearer other"))
	if got.StatusCode != 401 || got.problem(t).Code != "unauthorized" {
		t.Errorf("two tokens: %d %s", got.StatusCode, got.text)
	}
}

func contains(words, word string) bool { return strings.Contains(" "+words+" ", " "+word+" ") }

func TestPagesOfOtherSitesMayCallOnlyIfTheyAreNamed(t *testing.T) {
	preflight := []func(*http.Request){header("Access-Control-Request-Method", "POST"), header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "cors")}
	for name, tt := range map[string]struct {
		origins []string
		allowed bool
	}{
		"none is":           {nil, false},
		"another one is":    {[]string{"https://console.example"}, false},
		"it is":             {[]string{"https://console.example", "https://desk.example"}, true},
		"its other port is": {[]string{"https://desk.example:8443"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) { o.Origins = tt.origins }})
			origin := header("Origin", "https://desk.example")
			asked := s.send("OPTIONS", "/v1/runs", "", append(preflight, origin)...)
			if got := asked.Header.Get("Access-Control-Allow-Origin") != ""; got != tt.allowed {
				t.Errorf("preflight: %d %v", asked.StatusCode, asked.Header)
			}
			if !tt.allowed && (asked.StatusCode != 403 || !strings.Contains(asked.text, "pages from https://desk.example are refused; the operator allows an origin with --cors-origin")) {
				t.Errorf("preflight: %d %s", asked.StatusCode, asked.text)
			}
			sent := s.send("POST", "/v1/runs", `{"agent":"desk","input":"hello"}`, bearer("secret"), origin, header("Sec-Fetch-Site", "cross-site"))
			if (sent.StatusCode == 202) != tt.allowed || (sent.StatusCode == 403) == tt.allowed {
				t.Errorf("start: %d %s", sent.StatusCode, sent.text)
			}
			read := s.send("GET", "/v1/runs", "", bearer("secret"), origin, header("Sec-Fetch-Site", "cross-site"))
			if got := read.Header.Get("Access-Control-Allow-Origin") == "https://desk.example"; got != tt.allowed {
				t.Errorf("read: %v", read.Header)
			}
			if read.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("a browser may send its cookies")
			}
		})
	}
	for _, origin := range []string{"*", "null", "desk.example", "https://desk.example/", "ftp://desk.example", "https://a@desk.example"} {
		if _, err := httpapi.New(httpapi.Options{Frontend: &frontend.Frontend{}, Origins: []string{origin}}); err == nil {
			t.Errorf("%q was taken for an origin", origin)
		}
	}
}

func TestATenantThatStartsTooMuchIsToldWhenToComeAgain(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("stranger", "zoo", "theirs", access.Admin)},
		options: func(o *httpapi.Options) { o.Limits.StartsPerSecond = 0.5 }})
	start := func(token string) answer {
		return s.send("POST", "/v1/runs", `{"agent":"desk","input":"hello"}`, bearer(token))
	}
	for n := range 5 { // what two seconds each let through in ten
		if got := start("ours"); got.StatusCode != 202 {
			t.Fatalf("start %d: %d %s", n, got.StatusCode, got.text)
		}
	}
	refused := start("ours")
	if refused.StatusCode != 429 || refused.problem(t).Code != "rate_limited" || refused.Header.Get("Retry-After") != "2" {
		t.Errorf("%d %v %s", refused.StatusCode, refused.Header, refused.text)
	}
	if got := start("theirs"); got.StatusCode != 202 {
		t.Errorf("another tenant: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("GET", "/v1/runs?limit=100", "", bearer("ours")); got.StatusCode != 200 || strings.Count(got.text, `"id":"run_`) != 5 {
		t.Errorf("reads are held back, or something was stored: %d %s", got.StatusCode, got.text)
	}
}
