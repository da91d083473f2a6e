package mcpserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/local"
)

func (s *shop) get(path string) (status int, header http.Header, body string) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

// Clients of OAuth find out what the server is by its answer to a request without a token.
func TestMetadataOfTheResource(t *testing.T) {
	public, err := access.ParsePublicURL("https://desk.example.com/dormouse")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		public access.PublicURL
		at     func(s *shop) string // where clients see the server
	}{
		"where it says it is":  {public, func(*shop) string { return "https://desk.example.com/dormouse" }},
		"where the client was": {access.PublicURL{}, func(s *shop) string { return s.url }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, func(o *local.Options) { o.PublicURL = test.public })
			got := s.peer("nobody", asking).send("tools/list", nil)
			if want := `Bearer resource_metadata="` + test.at(s) + `/.well-known/oauth-protected-resource/mcp"`; got.status != 401 || got.header.Get("WWW-Authenticate") != want {
				t.Errorf("%d, %q, want %q", got.status, got.header.Get("WWW-Authenticate"), want)
			}
			for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
				status, _, body := s.get(path)
				want := `{"resource":"` + test.at(s) + `/mcp","bearer_methods_supported":["header"],"resource_name":"Dormouse"}`
				if status != 200 || strings.TrimSpace(body) != want {
					t.Errorf("%s: %d %s", path, status, body)
				}
			}
		})
	}
}

// A server without tokens has nothing to tell of them, and a caller has no name.
func TestAServerWithoutTokens(t *testing.T) {
	s := newShop(t, func(o *local.Options) { o.TokensFile = "" })
	if status, _, _ := s.get("/.well-known/oauth-protected-resource/mcp"); status != http.StatusNotFound {
		t.Errorf("the metadata has status %d", status)
	}
	anyone := s.peer("", asking)
	asked := anyone.ask("desk", "pay 50")
	if got := anyone.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): approved()}).Result.text(); got != "Paid." {
		t.Errorf("got %q", got)
	}
	got := anyone.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "tools/list", nil, func(r *http.Request) { r.Host = "desk.example.com" })
	if got.status != http.StatusForbidden {
		t.Errorf("another host: %d", got.status)
	}
}
