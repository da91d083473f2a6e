package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

// site is an identity provider as a browser finds it.
type site struct {
	issuer string
	ready  func(name string)                      // before the browser goes there: who signs in
	pages  func(ctx context.Context, name string) // what is asked there
}

// providers are the double, which asks nothing, and the one of .ci/servers, which has pages.
func providers() map[string]func(t *testing.T, redirect string) site {
	all := map[string]func(t *testing.T, redirect string) site{"double": doubled}
	if dir := os.Getenv("DORMOUSE_TEST_OIDC_SERVER"); dir != "" {
		all["oidc-provider"] = func(t *testing.T, _ string) site { return started(t, dir) }
	}
	return all
}

func doubled(t *testing.T, redirect string) site {
	t.Helper()
	p, err := oidcdouble.New(redirect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return site{p.URL, func(name string) {
		p.SignInAs(map[string]any{"sub": name, "email": name + "@acme.example", "email_verified": name != "mallory"})
	}, func(context.Context, string) {}}
}

// started starts the provider in a directory of .ci/servers, which redirects to any port.
func started(t *testing.T, dir string) site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "server.mjs"), fmt.Sprint(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := site{fmt.Sprintf("http://127.0.0.1:%d", port), func(string) {}, func(ctx context.Context, name string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(`input[name="login"]`)), chromedp.SendKeys(chromedp.CSS(`input[name="login"]`), name),
			chromedp.SendKeys(chromedp.CSS(`input[name="password"]`), "any"), chromedp.Click(chromedp.CSS(`button[type="submit"]`)),
			chromedp.WaitVisible(chromedp.CSS(`button[autofocus]`)), chromedp.Click(chromedp.CSS(`button[autofocus]`))); err != nil {
			t.Fatal(err)
		}
	}}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if resp, err := http.Get(s.issuer + "/.well-known/openid-configuration"); err == nil {
			resp.Body.Close()
			return s
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the provider does not answer")
		case <-again.C:
		}
	}
}

// office is a server whose people sign in, and a browser.
type office struct {
	*server
	site
	ctx context.Context
}

func newOffice(t *testing.T, start func(t *testing.T, redirect string) site) office {
	t.Helper()
	o := office{ctx: browser(t)}
	o.server = serve(t, func(options *httpapi.Options) {
		o.site = start(t, options.PublicURL.To(people.SignedInPath))
		options.SignIn = signin.New(signin.Options{Issuer: o.issuer, ClientID: oidcdouble.ClientID, Who: access.Person, Client: &http.Client{}, Clock: machine.Clock{},
			Secret: func(context.Context) (string, error) { return oidcdouble.Secret, nil }})
	})
	return o
}

// do acts, and waits for what is then seen.
func (o office) do(act chromedp.Action[chromedp.Void], then string) {
	o.t.Helper()
	if err := chromedp.Do(o.ctx, act); err != nil {
		o.t.Fatal(err)
	}
	o.see(then)
}

// see waits for something, and keeps a picture of the page in $DORMOUSE_PICTURES.
func (o office) see(css string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(css))); err != nil {
		o.t.Fatalf("%s does not come: %v\n%s", css, err, o.page())
	}
	if dir := os.Getenv("DORMOUSE_PICTURES"); dir != "" {
		picture, err := chromedp.Run(o.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			name := strings.NewReplacer("/", "-", " ", "-").Replace(o.t.Name())
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, time.Now().UnixMilli())), picture, 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
}

// page is what the browser shows.
func (o office) page() string {
	o.t.Helper()
	text, err := chromedp.Run(o.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		o.t.Fatal(err)
	}
	return text
}

func (o office) says(want string) {
	o.t.Helper()
	if text := o.page(); !strings.Contains(text, want) {
		o.t.Errorf("the page does not say %q:\n%s", want, text)
	}
}

// signIn goes from the page of a link to the provider and back, where it sees a button.
func (o office) signIn(name, button string) {
	o.t.Helper()
	o.ready(name)
	if err := chromedp.Do(o.ctx, chromedp.Click(chromedp.CSS(`a[href$="/sign-in"]`))); err != nil {
		o.t.Fatal(err)
	}
	o.pages(o.ctx, name)
	o.see(button)
	o.says("You have signed in as")
}

// TestAPersonSignsInAndApproves goes all the way, with an account that may not approve at first.
func TestAPersonSignsInAndApproves(t *testing.T) {
	t.Parallel()
	for name, start := range providers() {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, start)
			run := o.waits(frontendtest.Call{Tool: "pay", Arguments: []byte(`{"amount":120}`), Approvers: []string{"claim:email=anna@acme.example"}})
			link := o.link(run, "sign_in")
			o.do(chromedp.Navigate(link), `a[href$="/sign-in"]`)
			o.says("Sign in to answer")
			o.signIn("mallory", "button.no")
			o.says("This link can only deny")
			if buttons, err := chromedp.Run(o.ctx, chromedp.Evaluate[int](`document.querySelectorAll("button.yes").length`)); err != nil || buttons != 0 {
				t.Fatalf("an account whose address is not verified is offered %d buttons to approve, %v", buttons, err)
			}
			o.signIn("anna", "button.yes")
			o.says("anna@acme.example")
			o.postedBy(o.ctx, chromedp.Click(chromedp.CSS("button.yes")))
			o.see("main")
			if now := o.now(run); len(now.Pending) != 0 {
				t.Errorf("Approve did not answer: %+v\n%s", now, o.page())
			}
			if by := o.decision(link).By; !strings.HasPrefix(by, "person:anna@acme.example-") {
				t.Errorf("decided by %s", by)
			}
		})
	}
}

// decision is what the link says was decided.
func (o office) decision(link string) client.OutcomeDecision {
	o.t.Helper()
	resp, err := http.Get(link)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	var said wire.Outcome
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Decision == nil {
		o.t.Fatalf("%+v, %v", said, err)
	}
	return *said.Decision
}

// TestASignInThatFailsIsToldOnAPage shows what people see who come back without what they went for.
func TestASignInThatFailsIsToldOnAPage(t *testing.T) {
	t.Parallel()
	o := newOffice(t, doubled)
	for _, path := range []string{people.SignedInPath + "?code=x&state=y", people.SignedInPath + "?error=access_denied"} {
		o.do(chromedp.Navigate(o.url+path), "main")
		o.says("open the link and sign in again")
	}
}
