package httpapi_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// starting is a protocol with one request, which asks whether its caller may start work.
type starting struct{}

func (starting) Name() string { return "starting" }

func (starting) Routes() []httpapi.ProtocolRoute {
	return []httpapi.ProtocolRoute{{Method: http.MethodPost, Path: "/starting", Roles: []access.Role{access.Read, access.Start},
		Serve: func(_ http.ResponseWriter, v *httpapi.Visit) error { return v.MayStart() }}}
}

func (starting) View(url.Values) (httpapi.Viewer, error) { return nil, errors.New("no streams") }

func (starting) Refuse(w http.ResponseWriter, _ *http.Request, p wire.Problem) {
	w.WriteHeader(p.Status)
}

func TestACallerWhoMayNotStartTakesNothingOfTheRate(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("reader", "default", "reads", access.Read)},
		options: func(o *httpapi.Options) { o.Limits.StartsPerSecond, o.Protocols = 0.5, []httpapi.Protocol{starting{}} }})
	ask := func(token string) int { // which the API's document doesn't have
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/starting", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for range 10 {
		if got := ask("reads"); got != http.StatusForbidden {
			t.Fatalf("a reader starts work: %d", got)
		}
	}
	for n := range 5 { // what two seconds each let through in ten
		if got := ask("ours"); got != http.StatusOK {
			t.Errorf("start %d: %d", n, got)
		}
	}
	if got := ask("ours"); got != http.StatusTooManyRequests {
		t.Errorf("there is no rate: %d", got)
	}
}
