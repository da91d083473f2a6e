package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

// server is the API over a real store, listening on the loopback interface.
type server struct {
	t      *testing.T
	url    string
	worker frontendtest.Worker
	http   *http.Client // holds every exchange against the OpenAPI document, as client does
	client *client.Client
	token  string
	links  frontend.LinkStore
	lines  linesStore
}

// linesStore is the store of delivery lines, for tests that work on them.
type linesStore interface {
	engine.Lines
	ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error)
	WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error)
}

type settings struct {
	token   string // admin of the tenant "default", beside those of grants
	grants  []access.Grant
	options func(*httpapi.Options)
	// of the API and what is behind it; nil: one whose waits are over at once
	clock   engine.Clock
	wrap    func(frontend.Store) frontend.Store
	catalog frontend.Catalog
	front   func(*frontend.Options)
	desk    func(*webhooks.Options)
	// that of another server, in place of one of its own
	shared *frontend.Frontend
	before func(http.Handler) http.Handler // stands in front of the API
}

func newServer(t *testing.T, s settings) *server {
	t.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, _ := sqlitetest.Open(t, clock, random)
	var store frontend.Store = db
	if s.wrap != nil {
		store = s.wrap(db)
	}
	if s.catalog == nil {
		s.catalog = frontendtest.NewCatalog("desk")
	}
	if s.clock == nil {
		s.clock = clock
	}
	asked := frontend.Options{Store: store, Links: db, Catalog: s.catalog, Waker: &frontendtest.Waker{}, Clock: s.clock, Random: random,
		Narrow: func(raw json.RawMessage) error { _, err := agentfile.ParseNarrow(raw); return err }}
	if s.front != nil {
		s.front(&asked)
	}
	desk := webhooks.Options{Store: db, Deliveries: db, Waker: asked.Waker, Clock: s.clock, Random: random, Test: answersTest}
	if s.desk != nil {
		s.desk(&desk)
	}
	opts := httpapi.Options{Webhooks: webhooks.New(desk), Frontend: frontend.New(asked), Clock: s.clock, Version: "v1.2.3"}
	if s.shared != nil {
		opts.Frontend = s.shared
	}
	if s.token != "" {
		s.grants = append(s.grants, grant("test", access.Tenant, s.token, access.Admin))
	}
	if len(s.grants) > 0 {
		opts.Keys = keys{access.NewKeys(s.grants...)}
	}
	if s.options != nil {
		s.options(&opts)
	}
	api, err := httpapi.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if s.before != nil {
		api = s.before(api)
	}
	listener := httptest.NewServer(api)
	t.Cleanup(listener.Close)
	checked := &http.Client{Transport: contract.Transport(t, listener.Client().Transport)}
	return &server{t: t, url: listener.URL, http: checked, client: client.New(listener.URL, client.WithToken(s.token), client.WithHTTPClient(checked), client.WithRetries(0)), token: s.token, links: db, lines: db,
		worker: frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: random, Tenant: "default"}}
}

// startAs starts a run for the tenant of another token.
func (s *server) startAs(token string) (run wire.Run) {
	s.t.Helper()
	got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"refund A-17"}`, header("Authorization", "Bearer "+token))
	if err := json.Unmarshal([]byte(got.text), &run); err != nil || run.ID == "" {
		s.t.Fatal(got.text, err)
	}
	return run
}

// changing are keys whose tokens are somebody else's, or nobody's, once they change.
type changing struct {
	access.Keys
	changed atomic.Bool
	then    atomic.Pointer[access.Principal]
}

func (c *changing) change(then *access.Principal) {
	c.then.Store(then)
	c.changed.Store(true)
}

func (c *changing) Find(_ context.Context, token string) (access.Principal, bool, error) {
	return c.now(c.Keys.Find(token))
}

func (c *changing) Named(_ context.Context, name string) (access.Principal, bool, error) {
	return c.now(c.Keys.Named(name))
}

func (c *changing) now(p access.Principal, ok bool) (access.Principal, bool, error) {
	if !c.changed.Load() {
		return p, ok, nil
	}
	if then := c.then.Load(); then != nil {
		return *then, ok, nil
	}
	return access.Principal{}, false, nil
}

// keys are those of a test, which do not change.
type keys struct{ access.Keys }

func (k keys) Find(_ context.Context, token string) (access.Principal, bool, error) {
	p, ok := k.Keys.Find(token)
	return p, ok, nil
}

func (k keys) Named(_ context.Context, name string) (access.Principal, bool, error) {
	p, ok := k.Keys.Named(name)
	return p, ok, nil
}

func grant(name, tenant, token string, roles ...access.Role) access.Grant {
	return access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(token)}
}

func (s *server) start() wire.Run {
	s.t.Helper()
	run, err := s.client.StartRun(s.t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"refund A-17"`)}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	text string
}

func (a answer) problem(t *testing.T) wire.Problem {
	t.Helper()
	var p wire.Problem
	if media := a.Header.Get("Content-Type"); media != "application/problem+json" {
		t.Fatalf("%d %s: %s", a.StatusCode, media, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// send sends a request as it is; change may do what a client of ours would not.
func (s *server) send(method, path, body string, change ...func(*http.Request)) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(req)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp, string(raw)}
}

// unchecked sends a request to a server that does not serve all that is in the OpenAPI document.
func (s *server) unchecked(method, path, body string, change ...func(*http.Request)) answer {
	s.t.Helper()
	plain := *s
	plain.http = &http.Client{}
	return plain.send(method, path, body, change...)
}

func decoded[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func fingerprintOf(token string) string {
	p, _ := access.NewKeys(grant("x", "default", token, access.Admin)).Named("x")
	return p.Fingerprint
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}
