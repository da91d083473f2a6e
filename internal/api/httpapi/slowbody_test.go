package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// slowBody comes in two parts; between them something happens.
type slowBody struct {
	rest      io.Reader
	meanwhile func()
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.meanwhile != nil {
		do := b.meanwhile
		b.meanwhile = nil
		do()
	}
	return b.rest.Read(p[:min(len(p), 5)])
}

func TestWhatIsTakenAwayWhileABodyComesDecidesNothing(t *testing.T) {
	var api http.Handler
	known := &changing{Keys: access.NewKeys(grant("test", "default", "secret", access.Admin))}
	s := newServer(t, settings{token: "secret", before: func(h http.Handler) http.Handler { api = h; return h }, options: func(o *httpapi.Options) {
		withLinks(o)
		o.Keys = known
	}})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	link := s.makeLink(run.ID, "c1", "anna@example.com")
	send := func(path, token, body string, meanwhile func()) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, &slowBody{strings.NewReader(body), meanwhile})
		r.Host = "127.0.0.1"
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	got := send(link.Link, "", `{"action":"resume"}`, func() {
		if _, err := s.client.RevokeLink(t.Context(), run.ID, link.ID); err != nil {
			t.Error(err)
		}
	})
	if got.Code != 410 || !strings.Contains(got.Body.String(), "link_revoked") {
		t.Errorf("a link that was revoked meanwhile: %d %s", got.Code, got.Body)
	}
	for name, then := range map[string]*access.Principal{"removed": nil, "without its role": {Tenant: "default", Name: "test", Roles: []access.Role{access.Read}}} {
		known.changed.Store(false)
		for path, body := range map[string]string{"/v1/runs/" + run.ID + "/decisions": `{"target":"c1","action":"resume"}`, "/v1/runs": `{"agent":"desk","input":"go"}`} {
			known.changed.Store(false)
			got := send(path, "secret", body, func() { known.change(then) })
			if got.Code != 401 || !strings.Contains(got.Body.String(), "taken away") {
				t.Errorf("%s by a token that was %s meanwhile: %d %s", path, name, got.Code, got.Body)
			}
		}
	}
	known.changed.Store(false)
	if got := send("/v1/runs/"+run.ID+"/decisions", "secret", `{"target":"c1","action":"resume"}`, func() {}); got.Code != 202 {
		t.Errorf("by a token that is still good, the call waited: %d %s", got.Code, got.Body)
	}
}
