package local

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
	signInAt(t, &o, provider)
	s := r.startWith(o)
	run := s.begin(t)
	sus := s.await(t, run.ID, "waiting").Pending[0].Suspension.ID
	made, err := s.MakeLink(t.Context(), run.ID, wire.LinkRequest{Target: sus, For: "anna@acme.example", Require: "sign_in"})
	if err != nil {
		t.Fatal(err)
	}
	open := newBrowser(t, s.Server.Addr()).open
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

// signInAt has people sign in at a provider.
func signInAt(t *testing.T, o *Options, provider *oidcdouble.Provider) {
	t.Helper()
	o.SignIn = SignIn{Issuer: provider.URL, ClientID: oidcdouble.ClientID}
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if name == SignInSecret {
			return oidcdouble.Secret, nil
		}
		return "", secret.ErrNotSet
	}
	var err error
	if o.PublicURL, err = access.ParsePublicURL("https://desk.example.com"); err != nil {
		t.Fatal(err)
	}
}

// browser keeps cookies, follows no redirect, and finds the desk at the address of a server here.
type browser struct {
	*testing.T
	server  string
	cookies map[string]string
}

func newBrowser(t *testing.T, server string) *browser {
	return &browser{t, server, map[string]string{}}
}

// open returns an answer with its body closed.
func (b *browser) open(method, address, body string) *http.Response {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, strings.Replace(address, "https://desk.example.com", "http://"+b.server, 1), strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	resp.Body.Close()
	for _, c := range resp.Cookies() {
		b.cookies[c.Name] = c.Value
	}
	return resp
}

// Behind a proxy, people sign in to the console with the accounts that a rule names.
func TestAPersonSignsInToTheConsole(t *testing.T) {
	r, _ := countingRig(t)
	provider, err := oidcdouble.New("https://desk.example.com/signed-in")
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Close()
	o := r.options()
	signInAt(t, &o, provider)
	if o.SignIn.Roles, err = access.ParseDeskRules("claim:groups=approvers=decide"); err != nil {
		t.Fatal(err)
	}
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(o.TokensFile, []byte(access.Grant{Principal: access.Principal{Tenant: access.Tenant, Name: "shop", Roles: []access.Role{access.Start}}, Hash: access.HashOf("secret")}.Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.startWith(o)
	for group, want := range map[string]int{"approvers": http.StatusOK, "interns": http.StatusSeeOther} {
		provider.SignInAs(map[string]any{"sub": "u-1", "groups": []string{group}})
		open := newBrowser(t, s.Server.Addr()).open
		at := open("GET", "https://desk.example.com/signin/begin", "").Header.Get("Location")
		open("GET", open("GET", at, "").Header.Get("Location"), "")
		if got := open("GET", "https://desk.example.com/", ""); got.StatusCode != want {
			t.Errorf("%s: %s", group, got.Status)
		}
	}
}
