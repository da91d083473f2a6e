package console_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

// office is a console where people sign in with accounts, of a provider that knows one of them.
type office struct {
	*server
	provider *oidcdouble.Provider
	rules    access.DeskRules
	admitted access.Desk
}

const redirect = "https://desk.example/signed-in"

var (
	anna = map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true, "groups": []string{"approvers"}}
	olga = map[string]any{"sub": "u-2", "email": "olga@acme.example", "email_verified": true, "groups": []string{"ops"}}
)

func newOffice(t *testing.T) *office {
	t.Helper()
	provider, err := oidcdouble.New(redirect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	o := &office{provider: provider}
	if o.rules, err = access.ParseDeskRules("claim:groups=approvers=decide; claim:amr=approvers=decide; claim:email=olga@acme.example=admin"); err != nil {
		t.Fatal(err)
	}
	o.admitted = access.Desk{Tenant: tenant, Rules: o.rules}
	public, err := access.ParsePublicURL("https://desk.example")
	if err != nil {
		t.Fatal(err)
	}
	o.server = newServerWith(t, public, func(d *session.Desk) {
		d.Accounts = session.Accounts{Admit: func(claims map[string]string) (access.Principal, error) { return o.admitted.Admit(claims) },
			Provider: signin.New(signin.Options{Issuer: provider.URL, ClientID: oidcdouble.ClientID, Client: http.DefaultClient, Clock: d.Clock,
				Secret: func(context.Context) (string, error) { return oidcdouble.Secret, nil }})}
	})
	provider.Now = o.clock.Now
	return o
}

// begins is the way to the provider and what comes back from it, which no one has followed yet.
func (o *office) begins(b *browser, to string) (back string) {
	o.Helper()
	sent := b.get("/signin/begin?" + url.Values{"to": {to}}.Encode())
	if sent.status != http.StatusSeeOther || !strings.HasPrefix(sent.to, o.provider.URL) {
		o.Fatalf("begin: %d to %q\n%s", sent.status, sent.to, sent.text)
	}
	r, err := http.NewRequestWithContext(o.Context(), http.MethodGet, sent.to, nil)
	if err != nil {
		o.Fatal(err)
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		o.Fatal(err)
	}
	got.Body.Close()
	return strings.TrimPrefix(got.Header.Get("Location"), "https://desk.example")
}

func (o *office) enters(account map[string]any) *browser {
	o.Helper()
	o.provider.SignInAs(account)
	b := o.browser()
	if got := b.get(o.begins(b, "/")); got.status != http.StatusSeeOther || got.to != "/" {
		o.Fatalf("%d to %q\n%s", got.status, got.to, got.text)
	}
	return b
}

// cookie is the session's, as browsers keep it.
func cookie(header http.Header, name string) *http.Cookie {
	for _, c := range (&http.Response{Header: header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func TestAPersonSignsInWithAnAccount(t *testing.T) {
	o := newOffice(t)
	run, sus := o.waits(`"go"`, payment("50"))
	o.provider.SignInAs(anna)
	b := o.browser()
	if at := b.get("/questions/" + sus); at.status != http.StatusSeeOther {
		t.Fatalf("%d", at.status)
	}
	if at := b.get("/signin?to=/questions/" + sus); !strings.Contains(at.text, `href="/signin/begin?to=%2Fquestions%2F`+sus+`"`) {
		t.Fatalf("no way to the provider:\n%s", at.text)
	}
	before := b.cookies()
	got := b.get(o.begins(b, "/questions/"+sus))
	kept := cookie(got.header, "__Host-dormouse_console")
	if got.to != "/questions/"+sus || kept == nil || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteLaxMode || kept.Path != "/" || kept.Domain != "" || kept.MaxAge != 12*60*60 {
		t.Fatalf("to %q with %+v", got.to, kept)
	}
	if slices.Equal(before, b.cookies()) {
		t.Error("the session is the one of before")
	}
	page := b.get("/questions/" + sus)
	if got := b.post("/questions/"+sus, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"resume"}}); got.status != http.StatusSeeOther {
		t.Fatalf("%d\n%s", got.status, got.text)
	}
	out, err := o.reads.Outcome(t.Context(), frontend.Caller{Tenant: tenant}, run, sus)
	if err != nil || out.Decision == nil || !strings.HasPrefix(out.Decision.By, "person:anna@acme.example") {
		t.Errorf("the journal has %+v, %v", out.Decision, err)
	}
}

// One who only decides sees the inbox, whole, and nothing else.
func TestAnAccountMayWhatItsRolesSay(t *testing.T) {
	o := newOffice(t)
	run, sus := o.waits(`"go"`, payment("50"))
	for name, tt := range map[string]struct {
		account map[string]any
		runs    int
	}{"one who decides": {anna, 403}, "an admin": {olga, 200}} {
		b := o.enters(tt.account)
		for path, want := range map[string]int{"/": 200, "/questions/" + sus: 200, "/runs": tt.runs, "/runs/" + run: tt.runs, "/chat": tt.runs, "/agents": tt.runs} {
			if got := b.get(path); got.status != want {
				t.Errorf("%s: %s: %d, want %d", name, path, got.status, want)
			}
		}
		if page := b.get("/"); !strings.Contains(page.text, sus) {
			t.Errorf("%s sees an inbox without the question:\n%s", name, page.text)
		}
	}
}

// What a session grants is looked up at each request.
func TestASessionEndsWithItsRight(t *testing.T) {
	o := newOffice(t)
	b := o.enters(anna)
	o.admitted.Tenant = "other"
	if got := b.get("/"); got.status != http.StatusOK || strings.Contains(got.text, tenant) {
		t.Errorf("a moved account: %d\n%s", got.status, got.text)
	}
	o.admitted.Rules = nil
	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("an account without a role gets %d", got.status)
	}
	o.admitted.Rules = o.rules
	form := b.get("/").form()
	if got := b.post("/signout", url.Values{"form": {form}}); got.status != http.StatusSeeOther || got.to != "/signin?out=1" || b.get("/").status != http.StatusSeeOther {
		t.Errorf("signed out, and still in: %d", got.status)
	}
	if again := b.get("/signin?out=1"); !strings.Contains(again.text, "again=1") {
		t.Error("the provider would sign the person in without asking")
	}
	late := o.enters(anna)
	o.clock.AfterFunc(12*time.Hour+time.Second, func() {})
	if got := late.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("a session lasts longer than 12 hours: %d", got.status)
	}
}

// None of these ways back may sign anyone in.
func TestWaysBackThatSignNoOneIn(t *testing.T) {
	o := newOffice(t)
	o.provider.SignInAs(anna)
	for name, way := range map[string]func(b *browser) string{
		"without a beginning":   func(*browser) string { return "/signed-in?code=code-1&state=x" },
		"of another browser":    func(*browser) string { return o.begins(o.browser(), "/") },
		"another state":         func(b *browser) string { o.begins(b, "/"); return "/signed-in?code=code-1&state=x" },
		"the state of before":   func(b *browser) string { first := o.begins(b, "/"); o.begins(b, "/"); return first },
		"no code":               func(b *browser) string { return strings.Replace(o.begins(b, "/"), "code=", "error=", 1) },
		"a code of another one": func(b *browser) string { return swapCode(o.begins(b, "/"), o.begins(o.browser(), "/")) },
		"too late": func(b *browser) string {
			back := o.begins(b, "/")
			o.clock.AfterFunc(11*time.Minute, func() {})
			return back
		},
		"a token with the nonce of another": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) { claims["nonce"] = "of another" })
			return o.begins(b, "/")
		},
		"a token for another client": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) { claims["aud"] = "other" })
			return o.begins(b, "/")
		},
		"an account without a role": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) { claims["groups"] = []string{"interns"} })
			return o.begins(b, "/")
		},
		"an address that is not verified": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) {
				claims["email"], claims["email_verified"], claims["groups"] = "olga@acme.example", false, []string{}
			})
			return o.begins(b, "/")
		},
		"a claim about the token, not the person": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) { claims["groups"], claims["amr"] = []string{}, []string{"approvers"} })
			return o.begins(b, "/")
		},
		"claims that no cookie holds": func(b *browser) string {
			o.provider.Change(func(claims map[string]any) { claims["more"] = strings.Repeat("x", 4000) })
			return o.begins(b, "/")
		},
	} {
		b := o.browser()
		back := way(b)
		if got := b.get(back); got.status != http.StatusForbidden || !strings.Contains(got.text, `role="alert"`) {
			t.Errorf("%s: %d to %q\n%s", name, got.status, got.to, got.text)
		}
		if got := b.get("/"); got.status != http.StatusSeeOther {
			t.Errorf("%s: signed in", name)
		}
		o.provider.Change(nil)
	}
	b := o.browser()
	back := o.begins(b, "/")
	if b.get(back); b.get("/").status != http.StatusOK {
		t.Fatal("the right way signs no one in")
	}
	if again := b.get(back); again.status != http.StatusForbidden {
		t.Errorf("a way back is good twice: %d", again.status)
	}
	o.provider.Down(true)
	if got := o.browser().get("/signed-in?code=x&state=y"); got.status != http.StatusForbidden {
		t.Errorf("%d", got.status)
	}
}

func swapCode(own, other string) string {
	a, _ := url.Parse(own)
	b, _ := url.Parse(other)
	q := a.Query()
	q.Set("code", b.Query().Get("code"))
	return a.Path + "?" + q.Encode()
}

// Neither way in leads to another site, and the cookie of one is none of the other.
func TestAnAccountComesBackToOwnPagesOnly(t *testing.T) {
	o := newOffice(t)
	o.provider.SignInAs(anna)
	for _, to := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/evil.example", "///evil.example"} {
		b := o.browser()
		if got := b.get(o.begins(b, to)); got.status != http.StatusSeeOther || got.to != "/" {
			t.Errorf("%q: %d to %q", to, got.status, got.to)
		}
	}
	keys := access.LinkKeys{[]byte("a key of the tests, of 32 bytes.")}
	claims := string(core.Encode(map[string]string{"sub": "u-2", "email": "olga@acme.example", "email_verified": "true"}))
	ends := o.clock.Now().Add(time.Hour)
	for name, value := range map[string]string{
		"a link's sign-in":      keys.SignSignedIn(access.SignedIn{Link: "lnk_1", Claims: claims, Expires: ends}),
		"a sign-in that begins": keys.SignEntering(access.SigningIn{Link: "/", SignInAttempt: access.SignInAttempt{State: claims}, Expires: ends}),
		"another server's":      access.LinkKeys{[]byte("a key of another one, 32 bytes..")}.SignSession(access.Session{ID: "x", Claims: claims, Expires: ends}),
		"one that is over":      keys.SignSession(access.Session{ID: "x", Claims: claims, Expires: o.clock.Now().Add(-time.Second)}),
	} {
		b := o.browser()
		if got := b.do(http.MethodGet, "/", nil, map[string]string{"Cookie": "__Host-dormouse_console=" + value}); got.status != http.StatusSeeOther {
			t.Errorf("%s is a session: %d", name, got.status)
		}
	}
	good := keys.SignSession(access.Session{ID: "x", Claims: claims, Expires: ends})
	if got := o.browser().do(http.MethodGet, "/", nil, map[string]string{"Cookie": "__Host-dormouse_console=" + good}); got.status != http.StatusOK {
		t.Errorf("a session itself: %d", got.status)
	}
}

// The name of an account does not tell whether its person has been here with a token.
func TestAnAccountApprovesNothingThatItMayHaveAskedFor(t *testing.T) {
	o := newOffice(t)
	_, sus := o.waits(`"go"`, frontendtest.Call{Tool: "pay", Kind: core.KindApproval, Arguments: []byte(`{"amount":50}`), NotBy: core.NotByStarter})
	b := o.enters(anna)
	page := b.get("/questions/" + sus)
	got := b.post("/questions/"+sus, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"resume"}})
	if got.status == http.StatusSeeOther || !strings.Contains(got.text, "does not show which tokens") {
		t.Errorf("%d\n%s", got.status, got.text)
	}
}
