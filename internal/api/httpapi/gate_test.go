package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// authorizer stands for what is in front of the API: it says in the request's context who calls, by
// a header of the test's own.
type authorizer struct{ next http.Handler }

type callerKey struct{}

func (a authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("X-Test-Caller")
	r.Header.Del("X-Test-Caller")
	a.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, name)))
}

var callers = map[string]access.Principal{
	"ann":  {Tenant: "default", Name: "ann", Fingerprint: "a1", Roles: []access.Role{access.Admin}},
	"rob":  {Tenant: "default", Name: "rob", Fingerprint: "b2", Roles: []access.Role{access.Read}},
	"zora": {Tenant: "zoo", Name: "zora", Fingerprint: "c3", Roles: []access.Role{access.Admin}},
}

func gate(ctx context.Context) (access.Principal, bool, error) {
	switch name := ctx.Value(callerKey{}); name {
	case "":
		return access.Principal{}, false, nil
	case "stray":
		return access.Principal{}, false, access.NotAdmittedError{Why: "the token has no claim \"tenant\""}
	case "broken":
		return access.Principal{}, false, errors.New("the authorizer's part is no JSON")
	default:
		p, ok := callers[name.(string)]
		return p, ok, nil
	}
}

func newGatedServer(t *testing.T, more ...func(*httpapi.Options)) *server {
	return newServer(t, settings{before: func(h http.Handler) http.Handler { return authorizer{h} }, options: func(o *httpapi.Options) {
		withLinks(o)
		o.Gate = gate
		for _, m := range more {
			m(o)
		}
	}})
}

func by(name string) func(*http.Request) { return header("X-Test-Caller", name) }

func (s *server) startBy(name string) wire.Run {
	s.t.Helper()
	got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"refund A-17"}`, by(name))
	return decoded[wire.Run](s.t, got.text)
}

func TestBehindAGateTheAuthorizerSaysWhoCallsAndNoHeader(t *testing.T) {
	s := newGatedServer(t)
	run := s.startBy("ann")
	for name, tt := range map[string]struct {
		change []func(*http.Request)
		status int
		code   string
	}{
		"somebody who may":                  {[]func(*http.Request){by("rob")}, 200, ""},
		"somebody of another tenant":        {[]func(*http.Request){by("zora")}, 404, "run_not_found"},
		"nobody":                            {nil, 401, "unauthorized"},
		"nobody, with a bearer token":       {[]func(*http.Request){bearer("ann")}, 401, "unauthorized"},
		"zora, with somebody's token":       {[]func(*http.Request){by("zora"), bearer("ann")}, 404, "run_not_found"},
		"somebody who is nobody here":       {[]func(*http.Request){by("stray")}, 403, "not_admitted"},
		"an authorizer that makes no sense": {[]func(*http.Request){by("broken")}, 500, "internal"},
		"any host":                          {[]func(*http.Request){by("rob"), func(r *http.Request) { r.Host = "desk.example" }}, 200, ""},
	} {
		got := s.send("GET", "/v1/runs/"+run.ID, "", tt.change...)
		if got.StatusCode != tt.status || tt.code != "" && got.problem(t).Code != tt.code {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"x"}`, by("rob")); got.StatusCode != 403 || got.problem(t).Code != "role_required" {
		t.Errorf("a reader starts: %d %s", got.StatusCode, got.text)
	}
	for _, path := range []string{"/healthz", "/openapi.json"} {
		if got := s.send("GET", path, ""); got.StatusCode != 200 {
			t.Errorf("%s by nobody: %d", path, got.StatusCode)
		}
	}
}

func TestEveryCallSaysWhatTheAuthorizerLacks(t *testing.T) {
	s := newGatedServer(t)
	s.refusedAs(403, "not_admitted", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, at(rt, "run_x_0", "thr_x"), fit(rt), by("stray")), len(rt.Roles) > 0
	})
	s.refusedAs(401, "unauthorized", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, at(rt, "run_x_0", "thr_x"), fit(rt)), len(rt.Roles) > 0
	})
}

// Nobody can be asked who a caller of yesterday is: the link is good until it expires, and what was
// signed for nobody is not.
func TestBehindAGateALinkOfSomebodyIsGoodUntilItExpires(t *testing.T) {
	s := newGatedServer(t)
	run := s.startBy("ann")
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	link := s.makeLink(run.ID, "c1", "anna@example.com", by("ann")).Link
	if readers := s.send("POST", "/v1/runs/"+run.ID+"/links", `{"target":"c1","for":"rob"}`, by("rob")); readers.StatusCode != 403 {
		t.Errorf("a reader made a link: %d %s", readers.StatusCode, readers.text)
	}
	if got := s.send("GET", link, ""); got.StatusCode != 200 {
		t.Errorf("look: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", s.linkTo(run.ID, sus), `{"action":"resume"}`); got.StatusCode != 410 {
		t.Errorf("a link that nobody made: %d %s", got.StatusCode, got.text)
	}
	expired := s.signed(linkKey, engine.Link{Maker: "ann", Fingerprint: "a1", Run: run.ID, Suspension: sus, Expires: frontendtest.NewClock().Now().Add(-time.Second).UnixMilli()})
	if got := s.send("POST", expired, `{"action":"resume"}`); got.StatusCode != 410 {
		t.Errorf("an expired one: %d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", link, `{"action":"resume"}`); got.StatusCode != 202 {
		t.Errorf("answer: %d %s", got.StatusCode, got.text)
	}
}

func TestEachRouteIsServedByOnePart(t *testing.T) {
	parts := map[string]*server{}
	for name, part := range map[string]httpapi.Part{"runs": httpapi.PartRuns, "decisions": httpapi.PartDecisions, "streams": httpapi.PartStreams, "hooks": httpapi.PartHooks, "tests": httpapi.PartTests} {
		parts[name] = newGatedServer(t, func(o *httpapi.Options) { o.Part = part })
	}
	infos := map[string]httpapi.RouteInfo{}
	for _, info := range httpapi.Routes() {
		infos[info.Method+" "+info.Path] = info
	}
	for _, rt := range httpapi.Table() {
		info, ok := infos[rt.Method+" "+rt.Path]
		if !ok || info.Public != (len(rt.Roles) == 0) {
			t.Fatalf("%s: %+v, %v", rt.Name, info, ok)
		}
		home := map[httpapi.Part]string{httpapi.PartRuns: "runs", httpapi.PartDecisions: "decisions", httpapi.PartStreams: "streams", httpapi.PartHooks: "hooks", httpapi.PartTests: "tests"}[info.Part]
		for name, s := range parts {
			got := s.unchecked(rt.Method, at(rt, "run_nobody_0", "thr_nobody"), fit(rt), by("ann"))
			nowhere := strings.Contains(got.text, "this path doesn't exist; /openapi.json lists the paths of the API") || got.StatusCode == 405 && !strings.Contains(got.text, "run_")
			if nowhere == (name == home) {
				t.Errorf("%s at %s, and %s is its home: %d %s", rt.Name, name, home, got.StatusCode, got.text)
			}
		}
	}
}

// There is no connection in between: on one, time would go on while nothing happens.
func TestALongPollEndsBeforeItsRequestMust(t *testing.T) {
	for _, path := range []string{"", "/events?wait=20"} {
		synctest.Test(t, func(t *testing.T) {
			random := &frontendtest.Random{}
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), sqlite.Options{Clock: realClock{}, Random: random, Sync: dbfile.SyncOff})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			front := frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: realClock{}, Random: random})
			api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: realClock{}, Version: "v1"})
			if err != nil {
				t.Fatal(err)
			}
			started, err := front.Start(t.Context(), frontend.Caller{Tenant: access.Tenant}, "", wire.StartRequest{Agent: "desk", Input: core.Encode("hi")})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/runs/"+started.Run.ID+path, nil)
			r.Header.Set("Prefer", "wait=20")
			r.Header.Set("Accept", "application/json")
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			if took := time.Since(began); w.Code != 200 || ctx.Err() != nil || took < 3*time.Second {
				t.Errorf("%s: after %s: %d %s", path, took, w.Code, w.Body)
			}
		})
	}
}

func TestARequestThatTakesTooLongMayBeSentAgain(t *testing.T) {
	s := newServer(t, settings{before: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithDeadline(r.Context(), time.Unix(1, 0))
			defer cancel()
			h.ServeHTTP(w, r.WithContext(ctx))
		})
	}})
	if got := s.send("GET", "/v1/runs/run_x_0", ""); got.StatusCode != 503 || got.problem(t).Code != "unavailable" || got.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
