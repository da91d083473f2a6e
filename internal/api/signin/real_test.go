package signin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

// person is a user at the pages of a provider that others wrote.
type person struct {
	*testing.T
	http http.Client
}

func newPerson(t *testing.T) person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return person{t, http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirect) {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

var formAction = regexp.MustCompile(`action="(/?[^"]*interaction[^"]*)"`)

// signIn enters a name where one is asked for, allows what the client asks for, and returns the
// code that the provider sends the person back with.
func (p person) signIn(at, name string) string {
	p.Helper()
	resp, err := p.http.Get(at)
	for range 4 {
		if err != nil {
			p.Fatal(err)
		}
		page, err1 := io.ReadAll(resp.Body)
		resp.Body.Close()
		if back, _ := url.Parse(resp.Header.Get("Location")); back != nil && back.Host == "desk.example.com" {
			return back.Query().Get("code")
		}
		form := formAction.FindSubmatch(page)
		if err1 != nil || form == nil {
			p.Fatalf("%s: %s %v", resp.Request.URL, page, err1)
		}
		values := url.Values{"prompt": {"consent"}}
		if strings.Contains(string(page), `name="login"`) {
			values = url.Values{"prompt": {"login"}, "login": {name}, "password": {"any"}}
		}
		action, err2 := resp.Request.URL.Parse(string(form[1]))
		if err2 != nil {
			p.Fatal(err2)
		}
		resp, err = p.http.PostForm(action.String(), values)
	}
	p.Fatal("four pages, and no way back")
	return ""
}

// TestSignInAtARealProvider holds the client to a provider that others wrote, and that the OpenID
// Foundation has certified.
func TestSignInAtARealProvider(t *testing.T) {
	issuer := os.Getenv("DORMOUSE_TEST_OIDC")
	if issuer == "" {
		t.Skip("not run: DORMOUSE_TEST_OIDC names no provider; go run ./internal/proof/e2e servers openid -- go test ./internal/api/signin starts one")
	}
	secret := oidcdouble.Secret
	client := signin.New(signin.Options{Issuer: issuer, ClientID: oidcdouble.ClientID, Who: access.Person, Client: &http.Client{}, Clock: machine.Clock{},
		Secret: func(context.Context) (string, error) { return secret, nil }})
	attempt := access.SignInAttempt{Redirect: redirect, State: "s", Nonce: "n", Verifier: "a-verifier-of-at-least-forty-three-characters"}
	begin := func() string {
		t.Helper()
		at, err := client.Begin(t.Context(), attempt)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	code := newPerson(t).signIn(begin(), "anna")
	claims, err := client.Finish(t.Context(), attempt, code)
	if err != nil || claims["iss"] != issuer || claims["sub"] != "anna" || claims["email"] != "anna@acme.example" || claims["email_verified"] != "true" || claims["groups"] != `["office"]` {
		t.Fatalf("%v, %v", claims, err)
	}
	if claims, err := client.Finish(t.Context(), attempt, code); !errors.Is(err, access.ErrSignInRefused) {
		t.Errorf("a code twice: %v, %v", claims, err)
	}
	for name, change := range map[string]func(a *access.SignInAttempt){
		"another verifier": func(a *access.SignInAttempt) { a.Verifier = "another-verifier-of-forty-three-characters-at-least" },
		"another nonce":    func(a *access.SignInAttempt) { a.Nonce = "other" },
		"another address":  func(a *access.SignInAttempt) { a.Redirect = "http://127.0.0.1/v1/signed-in" },
		"another secret":   func(*access.SignInAttempt) { secret = "other" },
	} {
		code := newPerson(t).signIn(begin(), "anna")
		a := attempt
		change(&a)
		if claims, err := client.Finish(t.Context(), a, code); !errors.Is(err, access.ErrSignInRefused) {
			t.Errorf("%s: %v, %v", name, claims, err)
		}
		secret = oidcdouble.Secret
	}
}
