package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

const redirect = "https://desk.example.com/v1/signed-in"

// signIn goes to a provider and back.
func signIn(t *testing.T, p *oidcdouble.Provider) (map[string]string, error) {
	t.Helper()
	client := signin.New(signin.Options{Issuer: p.URL, ClientID: oidcdouble.ClientID, Who: access.Person, Client: &http.Client{}, Clock: machine.Clock{},
		Secret: func(context.Context) (string, error) { return oidcdouble.Secret, nil }})
	a := access.SignInAttempt{Redirect: redirect, State: "s", Nonce: "n", Verifier: "a-verifier-of-at-least-forty-three-characters"}
	at, err := client.Begin(t.Context(), a)
	if err != nil {
		return nil, err
	}
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return client.Finish(t.Context(), a, back.Query().Get("code"))
}

func TestUserInfoSaysWhatTheTokenDoesNot(t *testing.T) {
	type claims = map[string]any
	for name, tt := range map[string]struct {
		token, info claims
		want        map[string]string // beside the subject
		err         error
	}{
		"there is none":                   {claims{"sub": "u-1", "email": "a@x.example", "email_verified": true}, nil, map[string]string{"email": "a@x.example", "email_verified": "true"}, nil},
		"all is there":                    {claims{"sub": "u-1"}, claims{"sub": "u-1", "email": "a@x.example", "email_verified": true, "groups": []string{"office"}}, map[string]string{"email": "a@x.example", "email_verified": "true", "groups": `["office"]`}, nil},
		"the token is signed":             {claims{"sub": "u-1", "groups": []string{"guests"}}, claims{"sub": "u-1", "groups": []string{"office"}}, map[string]string{"groups": `["guests"]`}, nil},
		"another account":                 {claims{"sub": "u-1"}, claims{"sub": "u-2", "email": "a@x.example", "email_verified": true}, nil, access.ErrSignInRefused},
		"no account":                      {claims{"sub": "u-1"}, claims{"email": "a@x.example"}, nil, access.ErrSignInRefused},
		"an address that is not verified": {claims{"sub": "u-1", "email_verified": true}, claims{"sub": "u-1", "email": "a@x.example"}, map[string]string{"email": "a@x.example"}, nil},
		"another address than the verified one": {claims{"sub": "u-1", "email": "a@x.example"}, claims{"sub": "u-1", "email": "b@x.example", "email_verified": true},
			map[string]string{"email": "a@x.example"}, nil},
		"the same address, verified": {claims{"sub": "u-1", "email": "a@x.example"}, claims{"sub": "u-1", "email": "a@x.example", "email_verified": true},
			map[string]string{"email": "a@x.example", "email_verified": "true"}, nil},
		"an address that the token calls unverified": {claims{"sub": "u-1", "email": "a@x.example", "email_verified": false}, claims{"sub": "u-1", "email": "a@x.example", "email_verified": true},
			map[string]string{"email": "a@x.example", "email_verified": "false"}, nil},
		"another issuer": {claims{"sub": "u-1"}, claims{"sub": "u-1", "iss": "https://other.example"}, map[string]string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := oidcdouble.New(redirect)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			p.SignInAs(tt.token)
			p.Inform(tt.info)
			got, err := signIn(t, p)
			if !errors.Is(err, tt.err) {
				t.Fatalf("%v instead of %v", err, tt.err)
			}
			if err != nil {
				return
			}
			tt.want["sub"], tt.want["iss"] = "u-1", p.URL
			for _, name := range []string{"aud", "exp", "iat", "nonce"} {
				delete(got, name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
