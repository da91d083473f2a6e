package local

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// A person signs in at a provider, and the approval is recorded under that name.
func TestAPersonSignsInToAnswerALink(t *testing.T) {
	r, paid := countingRig(t)
	provider, err := oidcdouble.New("https://desk.example.com/v1/signed-in")
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Close()
	provider.SignInAs(map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true})
	r.deploy(strings.Replace(asked, "name: desk\n", "name: desk\ngroups: {office: ['claim:email=anna@acme.example']}\napprovals: {default: {group: office}}\n", 1))
	o := r.options()
	o.SignIn = SignIn{Issuer: provider.URL, ClientID: oidcdouble.ClientID}
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if name == SignInSecret {
			return oidcdouble.Secret, nil
		}
		return "", secret.ErrNotSet
	}
	if o.PublicURL, err = access.ParsePublicURL("https://desk.example.com"); err != nil {
		t.Fatal(err)
	}
	s := r.startWith(o)
	run := s.begin(t)
	sus := s.await(t, run.ID, "waiting").Pending[0].Suspension.ID
	made, err := s.MakeLink(t.Context(), run.ID, wire.LinkRequest{Target: sus, For: "anna@acme.example", Require: "sign_in"})
	if err != nil {
		t.Fatal(err)
	}
	cookies := map[string]string{}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	open := func(method, address, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.Replace(address, "https://desk.example.com", "http://"+s.Server.Addr(), 1), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for name, value := range cookies {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for _, c := range resp.Cookies() {
			cookies[c.Name] = c.Value
		}
		return resp
	}
	if resp := open("POST", made.Link, `{"action":"resume"}`); resp.StatusCode != 401 {
		t.Errorf("before the sign-in: %s", resp.Status)
	}
	at := open("GET", made.Link+"/sign-in", "").Header.Get("Location")
	if u, err := url.Parse(at); err != nil || !strings.HasPrefix(at, provider.URL) || u.Query().Get("client_id") != oidcdouble.ClientID {
		t.Fatalf("sent to %q", at)
	}
	if back := open("GET", open("GET", at, "").Header.Get("Location"), "").Header.Get("Location"); back != made.Link {
		t.Fatalf("sent back to %q", back)
	}
	if resp := open("POST", made.Link, `{"action":"resume"}`); resp.StatusCode != 202 {
		t.Errorf("after the sign-in: %s", resp.Status)
	}
	if s.await(t, run.ID, "done"); paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}
