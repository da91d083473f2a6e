package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// publicly is a server with a public address, and a run of it that waits for an approval.
func publicly(t *testing.T, address, token string, before func(http.Handler) http.Handler) (*server, wire.Run) {
	t.Helper()
	public, err := access.ParsePublicURL(address)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, settings{token: token, before: before, options: func(o *httpapi.Options) {
		withLinks(o)
		o.PublicURL = public
	}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	return s, run
}

// linked is the link that the server makes, with what is before its path.
func (s *server) linked(run string) (base, path string) {
	s.t.Helper()
	got := s.send("POST", "/v1/runs/"+run+"/links", `{"target":"c1","for":"anna@example.com"}`, bearer(s.token))
	if got.StatusCode != 201 {
		s.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	link := decoded[wire.Link](s.t, got.text).Link
	at := strings.Index(link, "/v1/approvals/")
	if at < 0 {
		s.t.Fatalf("the link is %q", link)
	}
	return link[:at], link[at:]
}

func TestLinksAndPlacesOfRunsBeginWithThePublicURL(t *testing.T) {
	for address, want := range map[string]string{
		"":                                 "",
		"https://desk.example.com/":        "https://desk.example.com",
		"https://example.com/ops/dormouse": "https://example.com/ops/dormouse",
	} {
		s, run := publicly(t, address, "secret", nil)
		if base, _ := s.linked(run.ID); base != want {
			t.Errorf("with %q, links begin with %q", address, base)
		}
		got := s.send("POST", "/v1/runs", `{"agent":"desk","input":"hello"}`, bearer("secret"))
		place := want + "/v1/runs/" + decoded[wire.Run](t, got.text).ID
		if got.Header.Get("Location") != place {
			t.Errorf("with %q, a run is at %q, want %q", address, got.Header.Get("Location"), place)
		}
		document := decoded[struct{ Servers []struct{ URL string } }](t, s.send("GET", "/openapi.json", "", bearer("secret")).text)
		if root := want + "/"; document.Servers[0].URL != strings.TrimSuffix(root, map[bool]string{true: "/"}[want != ""]) {
			t.Errorf("with %q, the document is of %q", address, document.Servers[0].URL)
		}
	}
}

func TestALinkBelowAPrefixWorksWhateverTheProxyDoesWithIt(t *testing.T) {
	passes := func(api http.Handler) http.Handler { return api }
	strips := func(api http.Handler) http.Handler { return http.StripPrefix("/ops/dormouse", api) }
	for name, proxy := range map[string]func(http.Handler) http.Handler{"passes the prefix on": passes, "takes the prefix away": strips} {
		t.Run(name, func(t *testing.T) {
			both := func(api http.Handler) http.Handler {
				behind := proxy(api)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					// what comes from outside
					if strings.HasPrefix(r.URL.Path, "/ops/") {
						behind.ServeHTTP(w, r)
						return
					}
					api.ServeHTTP(w, r)
				})
			}
			s, run := publicly(t, "https://example.com/ops/dormouse", "secret", both)
			_, path := s.linked(run.ID)
			outside := "/ops/dormouse" + path
			page := s.unchecked("GET", outside+"?utm_source=mail", "", header("Accept", "text/html"))
			if page.StatusCode != 200 || !strings.Contains(page.text, "refund") {
				t.Fatalf("%d %s", page.StatusCode, page.text)
			}
			if strings.Contains(page.text, `action="/`) || strings.Contains(page.text, `href="/`) {
				t.Errorf("the page leads out of the prefix: %s", page.text)
			}
			form := header("Content-Type", "application/x-www-form-urlencoded")
			got := s.unchecked("POST", outside, "action=cancel&shown="+shownOn(t, page), header("Accept", "text/html"), form)
			if got.StatusCode != 202 {
				t.Errorf("the answer: %d %s", got.StatusCode, got.text)
			}
			if got := s.unchecked("GET", "/ops/dormouse/v1/runs/"+run.ID, "", bearer("secret")); got.StatusCode != 200 {
				t.Errorf("a run: %d %s", got.StatusCode, got.text)
			}
		})
	}
}

func TestOnlyPathsOfTheAPIAreServedBelowAPrefix(t *testing.T) {
	for prefix, paths := range map[string]map[string]int{
		"/desk": {"/desk/v1/runs": 200, "/v1/runs": 200, "/desk/healthz": 200, "/healthz": 200, "/desk/openapi.json": 200, "/desk": 404, "/desk/": 404,
			"/desk/desk/v1/runs": 404, "/desks/v1/runs": 404, "/desk//v1/runs": 404, "/desk/../v1/runs": 404, "/desk/healthz/x": 404, "/other/v1/runs": 404},
		"/v1":       {"/v1/v1/runs": 200, "/v1/runs": 200, "/v1/healthz": 200, "/v1/approvals": 200},
		"/a%2Fb":    {"/a%2Fb/v1/runs": 200, "/a/b/v1/runs": 404},
		"/the desk": {"/the%20desk/v1/runs": 200},
	} {
		s, _ := publicly(t, "https://example.com"+prefix, "secret", nil)
		for path, want := range paths {
			if got := s.unchecked("GET", path, "", bearer("secret")); got.StatusCode != want {
				t.Errorf("at %s, %s: %d, want %d", prefix, path, got.StatusCode, want)
			}
		}
	}
}

// A proxy may send on another Host than the one that the browser asked for. The page of a link is
// the server's own all the same.
func TestTheFormOfALinkIsTakenFromThePublicSite(t *testing.T) {
	for name, tt := range map[string]struct {
		public, origin string
		status         int
	}{
		"the public site": {"https://desk.example.com:443/ops", "https://desk.example.com", 202},
		"another site":    {"https://desk.example.com", "https://evil.example.com", 403},
		"no public site":  {"", "https://desk.example.com", 403},
		"another scheme":  {"https://desk.example.com", "http://desk.example.com", 403},
		"another port":    {"https://desk.example.com", "https://desk.example.com:8443", 403},
		"a site like it":  {"https://desk.example.com", "https://desk.example.com.evil.example", 403},
	} {
		t.Run(name, func(t *testing.T) {
			s, run := publicly(t, tt.public, "secret", nil)
			_, path := s.linked(run.ID)
			if got := s.send("POST", path, `{"action":"cancel"}`, header("Origin", tt.origin)); got.StatusCode != tt.status {
				t.Errorf("%d %s", got.StatusCode, got.text)
			}
		})
	}
	// a server without tokens trusts no site
	s, run := publicly(t, "https://desk.example.com", "", nil)
	if got := s.send("POST", "/v1/runs/"+run.ID+"/cancel", "", header("Origin", "https://desk.example.com")); got.StatusCode != 403 {
		t.Errorf("without tokens: %d %s", got.StatusCode, got.text)
	}
}
