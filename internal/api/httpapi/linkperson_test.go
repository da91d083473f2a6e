package httpapi_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

const atHome = "https://desk.example.com"

// office is a server whose people sign in at a provider, and a link that requires it.
type office struct {
	*server
	provider *oidcdouble.Provider
	later    func(d time.Duration) // moves the clock
	run      wire.Run
	link     string
}

func newOffice(t *testing.T, call frontendtest.Call) office {
	t.Helper()
	var o office
	var err error
	s, run, link := signsInWith(t, call, func(r *wire.LinkRequest) { r.Require = "sign_in" }, func(opts *httpapi.Options) {
		withLinks(opts)
		if o.provider, err = oidcdouble.New(atHome + people.SignedInPath); err != nil {
			t.Fatal(err)
		}
		o.provider.Now = opts.Clock.Now
		o.later = func(d time.Duration) { opts.Clock.AfterFunc(d, func() {}) }
		if opts.PublicURL, err = access.ParsePublicURL(atHome); err != nil {
			t.Fatal(err)
		}
		opts.SignIn = signin.New(signin.Options{Issuer: o.provider.URL, ClientID: oidcdouble.ClientID, Who: access.Person, Client: http.DefaultClient, Clock: opts.Clock,
			Secret: func(context.Context) (string, error) { return oidcdouble.Secret, nil }})
	})
	t.Cleanup(o.provider.Close)
	o.provider.SignInAs(anna)
	o.server, o.run, o.link = s, run, strings.TrimPrefix(link, atHome)
	return o
}

var (
	anna = map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true, "groups": []string{"office"}}
	eve  = map[string]any{"sub": "u-2", "email": "eve@acme.example", "email_verified": true, "groups": []string{"guests"}}
)

// browser is one person's: it keeps cookies, and follows a redirect when it is told to.
type browser struct {
	office
	cookies map[string]string
}

func (o office) browser() browser { return browser{o, map[string]string{}} }

func (b browser) open(method, address, body string, change ...func(*http.Request)) answer {
	b.t.Helper()
	path := strings.TrimPrefix(address, atHome)
	stays := *b.server
	stays.http = &http.Client{Transport: b.http.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got := stays.send(method, path, body, append(change, asPage, func(r *http.Request) {
		for name, value := range b.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	})...)
	for _, c := range got.Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 && c.MaxAge != -1 {
			b.t.Errorf("the cookie %s", c)
		}
		b.cookies[c.Name] = c.Value
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return got
}

// visit opens an address of the provider, and returns where that sends the browser.
func (b browser) visit(address string) string {
	b.t.Helper()
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location")
}

// signIn goes all the way, and returns the last answer.
func (b browser) signIn() answer {
	b.t.Helper()
	return b.open("GET", b.visit(b.begin()), "")
}

func (b browser) begin() (provider string) {
	b.t.Helper()
	got := b.open("GET", b.link+"/sign-in", "")
	if got.StatusCode != 303 || got.Header.Get("Referrer-Policy") != "no-referrer" {
		b.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	return got.Header.Get("Location")
}

func TestALinkThatRequiresSignInDecidesAsThePerson(t *testing.T) {
	o := newOffice(t, frontendtest.Call{Approvers: []string{"claim:email=anna@acme.example"}})
	b := o.browser()
	page := b.open("GET", o.link, "")
	if !strings.Contains(page.text, `href="`+atHome+o.link+`/sign-in">Sign in to answer`) || strings.Contains(page.text, `value="resume"`) {
		t.Fatal(page.text)
	}
	if got := b.signIn(); got.StatusCode != 303 || got.Header.Get("Location") != atHome+o.link {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, method := range []string{"GET", "HEAD", "GET"} {
		page = b.open(method, o.link, "")
	}
	if !strings.Contains(page.text, `You have signed in as <strong>anna@acme.example-`) || !o.waits(o.run.ID) {
		t.Fatal(page.text)
	}
	form := fill(t, page)
	if got := b.open("POST", o.link, form.Encode(), asForm, header("Sec-Fetch-Site", "cross-site")); got.StatusCode != 403 {
		t.Errorf("another site's page: %d", got.StatusCode)
	}
	for _, want := range []int{202, 200} {
		if got := b.open("POST", o.link, form.Encode(), asForm); got.StatusCode != want {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	if decided := decoded[wire.Outcome](t, o.send("GET", o.link, "").text).Decision; !strings.HasPrefix(decided.By, "person:anna@acme.example-") || decided.Via != "link" {
		t.Errorf("%+v", decided)
	}
}

func codeOf(t *testing.T, back string) string {
	t.Helper()
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("code")
}

// id is that of the link's record.
func (o office) id() string {
	o.t.Helper()
	all, err := o.client.Links(o.t.Context(), o.run.ID)
	if err != nil || len(all) == 0 {
		o.t.Fatalf("%+v, %v", all, err)
	}
	return all[0].ID
}

// answer approves with what the browser has, whatever the page shows.
func (o office) answer(b browser) answer {
	o.t.Helper()
	return b.open("POST", o.link, `{"action":"resume"}`)
}

func TestAProviderThatIsDown(t *testing.T) {
	o := newOffice(t, frontendtest.Call{})
	o.provider.Down(true)
	if got := o.browser().open("GET", o.link+"/sign-in", ""); got.StatusCode != 503 || strings.Contains(got.text, o.provider.URL) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	o.provider.Down(false)
	b := o.browser()
	back := b.visit(b.begin())
	o.provider.Down(true)
	if got := b.open("GET", back, ""); got.StatusCode != 503 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	o.provider.Down(false)
	if b.signIn(); o.answer(b).StatusCode != 202 {
		t.Error("it is up again, and no one signs in")
	}
}

func TestARevokedLinkSignsNoOneIn(t *testing.T) {
	o := newOffice(t, frontendtest.Call{})
	b := o.browser()
	back := b.visit(b.begin())
	if _, err := o.client.RevokeLink(t.Context(), o.run.ID, o.id()); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{o.link + "/sign-in", back} {
		if got := b.open("GET", address, ""); got.StatusCode != 410 || len(got.Cookies()) > 0 {
			t.Errorf("%s: %d %s", address, got.StatusCode, got.text)
		}
		cookie := header("Cookie", "dormouse_signing_in="+b.cookies["dormouse_signing_in"])
		if got := o.send("GET", strings.TrimPrefix(address, atHome), "", cookie); got.StatusCode != 410 || got.problem(t).Code != "link_revoked" {
			t.Errorf("%s: %d %s", address, got.StatusCode, got.text)
		}
	}
}

func TestWithoutAProviderNoLinkRequiresSignIn(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	if got := s.send("POST", "/v1/runs/"+run.ID+"/links", `{"target":"c1","for":"anna","require":"sign_in"}`, bearer("secret")); got.StatusCode != 400 || got.problem(t).Code != "invalid_request" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	link := s.makeLink(run.ID, "c1", "anna").Link
	for _, path := range []string{link + "/sign-in", people.SignedInPath + "?code=a&state=b"} {
		if got := s.send("GET", path, "", asPage); got.StatusCode != 404 && got.StatusCode != 403 {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

// Where several people are needed, an account may be a person who has voted in another way.
func TestAnAccountHasNoVote(t *testing.T) {
	members := []vote.Member{{Is: []string{"claim:email=anna@acme.example"}}, {Is: []string{"token:anna"}}}
	o := newOffice(t, frontendtest.Call{Policy: &vote.Policy{Name: "two", Stages: []vote.Stage{{Group: vote.Group{Name: "office", Members: members}, Need: 2}}}})
	o.provider.SignInAs(anna)
	b := o.browser()
	b.signIn()
	form := fill(t, b.open("GET", o.link, ""))
	if got := b.open("POST", o.link, form.Encode(), asForm); got.StatusCode != 403 || !strings.Contains(got.text, "this sign-in does not show") {
		t.Fatalf("%d: %s", got.StatusCode, got.text)
	}
	if !o.waits(o.run.ID) {
		t.Error("it does not wait any more")
	}
}

// What one person decided is not called another's, who has the same link.
func TestAnotherPersonsAnswerByTheSameLinkIsNotTheFirst(t *testing.T) {
	o := newOffice(t, frontendtest.Call{})
	first, second := o.browser(), o.browser()
	first.signIn()
	o.provider.SignInAs(eve)
	second.signIn()
	form, other := fill(t, first.open("GET", o.link, "")), fill(t, second.open("GET", o.link, ""))
	if got := first.open("POST", o.link, form.Encode(), asForm); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	if got := second.open("POST", o.link, other.Encode(), asForm); got.StatusCode != 409 || strings.Contains(got.text, "You gave this decision") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if by := decoded[wire.Outcome](t, o.send("GET", o.link, "").text).Decision.By; !strings.HasPrefix(by, "person:anna@acme.example-") {
		t.Errorf("decided by %s", by)
	}
}
