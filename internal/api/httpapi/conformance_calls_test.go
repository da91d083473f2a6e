package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// at is the route's path with these ids.
func at(rt httpapi.Route, run, thread string) string {
	id := run
	if strings.HasPrefix(rt.Path, "/v1/threads/") {
		id = thread
	}
	if strings.HasPrefix(rt.Path, "/v1/suspensions/") {
		id = core.SuspensionID(thread, 1, "nobody")
	}
	link := access.LinkKeys{linkKey}.Sign(access.Link{ID: "lnk_sus_1_nobody", Tenant: access.Tenant, Run: run, Suspension: "sus_1_nobody", Expires: frontendtest.NewClock().Now().Add(24 * time.Hour)})
	switch {
	case strings.HasPrefix(rt.Path, access.PushPath):
		link = access.Push{Tenant: access.Tenant, Run: run, Token: "nobody"}.Text()
	case strings.HasPrefix(rt.Path, webhooksPath+"/deliveries/"):
		id = "dlv_dGhyX2EANwB3aF9h" // of no notice
	case strings.HasPrefix(rt.Path, webhooksPath+"/"):
		id = "wh_nobody"
	}
	if rt.Name == "findThread" {
		return rt.Path + "?key=nobody"
	}
	return strings.NewReplacer("{id}", id, "{call}", "c1", "{name}", "desk", "{link}", "lnk_nobody", "{token}", link, "{ticket}", ticketFor(run)).Replace(rt.Path)
}

// recorded stores the record of the link that [at] makes for a run.
func (s *server) recorded(run string) {
	s.signed(linkKey, engine.Link{Run: run, Suspension: "sus_1_nobody", For: "anna", Expires: s.worker.Clock.Now().Add(24 * time.Hour).UnixMilli()})
}

// fit is a body that the route takes.
func fit(rt httpapi.Route) string {
	switch {
	case !rt.TakesBody && rt.Name != "receiveHook":
		return ""
	case rt.Name == "startRun":
		return `{"agent":"desk","input":"x"}`
	case rt.Name == "receiveHook":
		return `{"input":"x"}`
	case rt.Name == "ask":
		return `{"title":"x"}`
	case rt.Name == "sendMessage":
		return `{"input":"x"}`
	case rt.Name == "makeLink":
		return `{"target":"c1","for":"anna"}`
	case rt.Name == "answerLink", rt.Name == "answerSuspension":
		return `{"action":"resume"}`
	case rt.Name == "addWebhook":
		return pager
	case rt.Name == "disableEndpoint", rt.Name == "enableEndpoint", rt.Name == "redriveEndpoint":
		return `{"endpoint":"agent/desk/pager"}`
	case rt.Name == "decideBulk":
		return `{"action":"resume","questions":[{"suspension":"` + core.SuspensionID("thr_nobody", 1, "nobody") + `","shown":"v1:0"}]}`
	case rt.Name == "decide":
		return `{"target":"c1","action":"resume"}`
	}
	return `{}`
}

// refusedAs sends a request to each route and wants the same refusal from all.
func (s *server) refusedAs(status int, code string, send func(httpapi.Route) (answer, bool)) {
	s.t.Helper()
	for _, rt := range httpapi.Table() {
		got, sent := send(rt)
		if !sent {
			continue
		}
		if p := got.problem(s.t); got.StatusCode != status || p.Code != code {
			s.t.Errorf("%s: got %d %s, want %d %s", rt.Name, got.StatusCode, p.Code, status, code)
		}
	}
}

func TestEveryCallRefusesWhatItDoesNotTake(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	run := s.start()
	s.recorded(run.ID)
	path := func(rt httpapi.Route) string { return at(rt, run.ID, run.ThreadID) }
	s.refusedAs(400, "unknown_field", func(rt httpapi.Route) (answer, bool) {
		address, query, _ := strings.Cut(path(rt), "?")
		return s.send(rt.Method, address+"?colour=1&"+query, fit(rt)), !rt.Link
	})
	s.refusedAs(400, "invalid_request", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, path(rt)+"?limit=%zz", fit(rt)), !rt.Link
	})
	s.refusedAs(403, "forbidden", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, path(rt), fit(rt), func(r *http.Request) { r.Host = "rebound.example" }), true
	})
	s.refusedAs(404, "not_found", func(rt httpapi.Route) (answer, bool) {
		dots := strings.NewReplacer("{id}", ".", "{name}", ".", "{token}", ".", "{ticket}", ".").Replace(rt.Path)
		return s.send(rt.Method, dots, fit(rt)), dots != rt.Path
	})
	s.refusedAs(400, "malformed_body", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, path(rt), "{", func(*http.Request) {}), rt.TakesBody
	})
	s.refusedAs(413, "too_large", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, path(rt), `{"reason":"`+strings.Repeat("x", 1<<20)+`"}`), rt.TakesBody
	})
	s.refusedAs(415, "unsupported_media_type", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, path(rt), "x", header("Content-Type", "text/plain")), rt.TakesBody
	})
}

func TestEveryCallFindsNoOthersIDs(t *testing.T) {
	s := newServer(t, settings{catalog: noAgents{}, options: withLinks})
	s.recorded("run_nobody_0")
	for prefix, code := range map[string]string{"/v1/runs/{id}": "run_not_found", "/v1/threads": "thread_not_found", "/v1/suspensions/{id}": "call_not_found", "/v1/agents/{name}": "agent_not_found",
		"/v1/approvals/{token}": "run_not_found", "/v1/asks/{id}": "run_not_found", "/v1/streams/{ticket}": "run_not_found", access.PushPath + "{token}": "not_found", webhooksPath + "/{id}": "webhook_not_found", webhooksPath + "/deliveries/{id}": "delivery_not_found"} {
		s.refusedAs(404, code, func(rt httpapi.Route) (answer, bool) {
			if rt.Name == "readTenantEvents" {
				// has no id in its path, and its stream would keep the test waiting
				// until the tickets expire
				return answer{}, false
			}
			return s.send(rt.Method, at(rt, "run_nobody_0", "thr_nobody"), fit(rt)), strings.HasPrefix(rt.Path, prefix)
		})
	}
}

// noAgents has no agents but the built-in one.
type noAgents struct{}

func (noAgents) Current(_ context.Context, _, name string) (engine.Definition, error) {
	if name == ask.Agent {
		return engine.Definition{Name: name, Digest: "sha256:ask"}, nil
	}
	return engine.Definition{}, engine.ErrNotFound
}

func (noAgents) Deployed(context.Context, string) ([]engine.Definition, error) {
	return nil, nil
}

func TestEveryCallNeedsItsRole(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("starter", "default", "start", access.Start),
		grant("reader", "default", "read", access.Read), grant("decider", "default", "decide", access.Decide), grant("mailer", "default", "link", access.Links)}})
	s.refusedAs(401, "unauthorized", func(rt httpapi.Route) (answer, bool) {
		return s.send(rt.Method, at(rt, "run_x_0", "thr_x"), fit(rt)), len(rt.Roles) > 0
	})
	for _, role := range []access.Role{access.Start, access.Read, access.Decide, access.Links} {
		s.refusedAs(403, "role_required", func(rt httpapi.Route) (answer, bool) {
			got := s.send(rt.Method, at(rt, "run_x_0", "thr_x"), fit(rt), header("Authorization", "Bearer "+string(role)))
			may := len(rt.Roles) == 0 || slices.Contains(rt.Roles, role)
			// who did not begin a sign-in is refused, with any role
			if may && rt.Name != "finishSignIn" && (got.StatusCode == 401 || got.StatusCode == 403) {
				t.Errorf("%s with the role %s: %d", rt.Name, role, got.StatusCode)
			}
			return got, !may
		})
	}
}

// lost is a store and a catalog that answer nothing.
type lost struct {
	frontend.Store
	err error
}

func (l lost) Load(context.Context, string, string) (core.Head, error) { return core.Head{}, l.err }
func (l lost) Start(context.Context, engine.StartRequest) (engine.Written, error) {
	return engine.Written{}, l.err
}

func (l lost) Runs(context.Context, string, string, string, int) ([]core.Record, string, error) {
	return nil, "", l.err
}

func (l lost) Approvals(context.Context, string, string, int) ([]core.Head, string, error) {
	return nil, "", l.err
}

func (l lost) Feed(context.Context, string, engine.FeedQuery) ([]engine.FeedEntry, error) {
	return nil, l.err
}

func (l lost) Current(context.Context, string, string) (engine.Definition, error) {
	return engine.Definition{}, l.err
}

func (l lost) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, l.err }

// lostHooks is a store of webhooks that answers nothing.
type lostHooks struct{ err error }

func (l lostHooks) PutWebhook(context.Context, notice.Webhook) error { return l.err }
func (l lostHooks) Webhook(context.Context, string, string) (notice.Webhook, error) {
	return notice.Webhook{}, l.err
}
func (l lostHooks) Webhooks(context.Context, string) ([]notice.Webhook, error) { return nil, l.err }
func (l lostHooks) DeleteWebhook(context.Context, string, string) error        { return l.err }
func (l lostHooks) DisableEndpoint(_ context.Context, d notice.Disabled) (notice.Disabled, error) {
	return d, l.err
}
func (l lostHooks) EnableEndpoint(context.Context, string, string) error { return l.err }
func (l lostHooks) Disabled(context.Context, string, []string) (map[string]notice.Disabled, error) {
	return nil, l.err
}
func (l lostHooks) DisabledEndpoints(context.Context, string, string, int) ([]notice.Disabled, error) {
	return nil, l.err
}
func (l lostHooks) Records(context.Context, string, engine.RecordQuery) ([]notice.Record, string, error) {
	return nil, "", l.err
}
func (l lostHooks) Record(context.Context, notice.Key, int64) (notice.Record, error) {
	return notice.Record{}, l.err
}
func (l lostHooks) ThreadLines(context.Context, string, string) (map[string]notice.Line, error) {
	return nil, l.err
}
func (l lostHooks) RedriveNotice(context.Context, notice.Key, int64, int64) error { return l.err }
func (l lostHooks) ForgetNotice(context.Context, notice.Key, int64) error         { return l.err }

// lostAs is what a call is answered with when the store fails so.
var lostAs = map[string]struct {
	err    error
	status int
}{
	"unavailable": {engine.ErrUnavailable, 503}, "internal": {fmt.Errorf("the disk is full"), 500}, "disk_full": {engine.ErrNoRoom, 507},
	"storage_failing": {engine.ErrDisk, 503}, "storage_damaged": {engine.ErrDamaged, 503}, "storage_gone": {engine.ErrGone, 503},
	"storage_denied": {engine.ErrDenied, 503}, "unreadable": {fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrUnreadable), 503},
}

func TestEveryCallSaysThatTheStoreIsLost(t *testing.T) {
	for code, as := range lostAs {
		t.Run(code, func(t *testing.T) {
			l := lost{err: as.err}
			s := newServer(t, settings{catalog: l, options: withLinksAndHooks, wrap: func(s frontend.Store) frontend.Store { l.Store = s; return l },
				desk: func(o *webhooks.Options) { o.Store, o.Deliveries = lostHooks{as.err}, lostHooks{as.err} }})
			s.recorded("run_x_0")
			s.refusedAs(as.status, code, func(rt httpapi.Route) (answer, bool) {
				// who did not begin a sign-in is refused before the store is read
				if rt.Tag == "server" || rt.Name == "finishSignIn" || code == "disk_full" && rt.Method == "GET" {
					return answer{}, false
				}
				got := s.send(rt.Method, at(rt, "run_x_0", "thr_x"), fit(rt), signedBy(hookKey, fit(rt)))
				if again := got.Header.Get("Retry-After") != ""; again != (code == "unavailable" || code == "disk_full") {
					t.Errorf("%s %s: Retry-After: %v", rt.Method, rt.Path, again)
				}
				return got, true
			})
		})
	}
}
