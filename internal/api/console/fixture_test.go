package console_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

const tenant = "default"

// tokens are known ones by their text, until one is taken away.
type tokens struct {
	mu    sync.Mutex
	known map[string]access.Principal
}

func (k *tokens) Find(_ context.Context, token string) (access.Principal, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.known[token]
	return p, ok, nil
}

func (k *tokens) Named(_ context.Context, name string) (access.Principal, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.known {
		if p.Name == name {
			return p, true, nil
		}
	}
	return access.Principal{}, false, nil
}

func (k *tokens) set(token string, p access.Principal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[token] = p
}

func (k *tokens) remove(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, token)
}

// server is the console over a real store, and a worker that puts runs into states.
type server struct {
	testing.TB
	url    string
	tokens *tokens
	reads  *query.Reader
	worker frontendtest.Worker
	clock  *frontendtest.Clock
	lines  lines
	waker  *frontendtest.Waker
	acts   *losing
	bulks  *losingBulks
}

// lines is the store of delivery lines, for tests that work on them.
type lines interface {
	engine.Lines
	ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error)
	WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error)
	ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error)
}

func newServer(t testing.TB) *server {
	t.Helper()
	return newServerWith(t, access.PublicURL{}, func(*session.Desk) {})
}

// newServerWith is a server that people reach at a public address, with other ways to sign in.
func newServerWith(t testing.TB, public access.PublicURL, change func(*session.Desk)) *server {
	t.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	store, _ := sqlitetest.Open(t, clock, random)
	waker := &frontendtest.Waker{}
	desk := webhooks.New(webhooks.Options{Store: store, Deliveries: store, Waker: waker, Clock: clock, Random: random})
	front := frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: waker, Clock: clock, Random: random, Tool: describe})
	s := &server{TB: t, clock: clock, lines: store, waker: waker, reads: query.New(front), tokens: &tokens{known: map[string]access.Principal{}},
		worker: frontendtest.Worker{Test: t, Store: store, Clock: clock, Random: random, Tenant: tenant, Who: true}}
	for name, roles := range map[string][]access.Role{"anna": {access.Decide}, "bert": {access.Decide}, "rita": {access.Read}, "olga": {access.Admin}, "hugo": {access.Webhooks}} {
		s.tokens.set(name+"-secret", access.Principal{Tenant: tenant, Name: name, Fingerprint: name + "-1", Roles: roles})
	}
	keys := access.LinkKeys{[]byte("a key of the tests, of 32 bytes.")}
	sessions := &session.Desk{Tokens: s.tokens, Ended: store, Clock: clock, Random: random, Public: public, Guesses: bounds.NewGuesses(),
		Signing: func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }}
	change(sessions)
	s.acts, s.bulks = &losing{Acts: s.reads}, &losingBulks{Bulks: bulk.New(front)}
	// the clock runs as fast as pages look for news
	limits := bounds.Limits{StreamLife: 1e6 * time.Hour}
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: clock, Keys: s.tokens, Links: keys, PublicURL: public, Limits: limits,
		Protocols: []httpapi.Protocol{console.New(console.Options{Reads: s.reads, Acts: s.acts, Bulks: s.bulks, Numbers: ops.New(front, desk), Deliveries: desk, Sessions: sessions, Clock: clock, Public: public, Names: httpapi.Names{Product: "Till"}, Hold: 8 * time.Second})}})
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(api)
	t.Cleanup(served.Close)
	s.url = served.URL
	return s
}

// describe knows one tool, which has a title.
func describe(_ context.Context, _ string, _ core.Record, tool string) (wire.ToolDetails, error) {
	if tool != "refund" {
		return wire.ToolDetails{}, errors.New("unknown")
	}
	return wire.ToolDetails{Title: []wire.TitlePart{{Text: "Refund "}, {Argument: "amount"}, {Text: " for "}, {Argument: "order"}, {Text: "?"}}}, nil
}

// waits starts a run that waits for an answer about one call.
func (s *server) waits(input string, call frontendtest.Call) (run, sus string) {
	s.Helper()
	started, err := s.reads.Start(s.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(input)})
	if err != nil {
		s.Fatal(err)
	}
	call.ID = "c1"
	return started.Run.ID, s.worker.Suspend(started.Run.ID, call)["c1"]
}

func (s *server) pending(run string) []wire.Pending {
	s.Helper()
	now, err := s.reads.Run(s.Context(), frontend.Caller{Tenant: tenant, By: "token:olga", Roles: []access.Role{access.Admin}}, run)
	if err != nil {
		s.Fatal(err)
	}
	return now.Pending
}

// browser keeps cookies, and does not follow redirects by itself.
type browser struct {
	*server
	http.Client
}

func (s *server) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{s, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn is the browser of a person who holds a token.
func (s *server) signedIn(name string) *browser {
	s.Helper()
	b := s.browser()
	at := b.get("/signin")
	if got := b.post("/signin", url.Values{"form": {at.form()}, "token": {name + "-secret"}, "to": {"/"}}); got.status != http.StatusSeeOther {
		s.Fatalf("%s can't sign in: %d\n%s", name, got.status, got.text)
	}
	return b
}

type shown struct {
	status   int
	text, to string
	header   http.Header
}

var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

// form is what the page's form carries.
func (p shown) form() string {
	if m := formField.FindStringSubmatch(p.text); m != nil {
		return m[1]
	}
	return ""
}

var shownField = regexp.MustCompile(`name="shown" value="([^"]+)"`)

func (p shown) fingerprint() string {
	if m := shownField.FindStringSubmatch(p.text); m != nil {
		return m[1]
	}
	return ""
}

func (b *browser) get(path string) shown {
	b.Helper()
	return b.do(http.MethodGet, path, nil, nil)
}

func (b *browser) post(path string, form url.Values) shown {
	b.Helper()
	return b.do(http.MethodPost, path, form, map[string]string{"Sec-Fetch-Site": "same-origin"})
}

func (b *browser) do(method, path string, form url.Values, header map[string]string) shown {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	got, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.Fatal(err)
	}
	return shown{got.StatusCode, string(text), got.Header.Get("Location"), got.Header}
}

// cookies are those that the browser sends.
func (b *browser) cookies() (all []string) {
	at, err := url.Parse(b.url)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(at) {
		all = append(all, c.Value)
	}
	return all
}

func decisionTo(action string) wire.Decision { return wire.Decision{Action: action} }
