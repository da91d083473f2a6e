// Package people knows who has signed in to answer a link. What a browser keeps of that is signed,
// and no step decides anything: the answer comes in a separate POST.
//
//	page ── GET …/sign-in ── provider ── GET /v1/signed-in?code ── page, with a cookie ── POST
//	              └─ cookie: state, nonce, verifier ─┘
package people

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// SignIn is an identity provider.
type SignIn interface {
	// Begin returns the address at which a person signs in. Errors are
	// [access.ErrProviderDown].
	Begin(ctx context.Context, a access.SignInAttempt) (string, error)

	// Finish returns the claims of the person who came back with a code. Errors are
	// [access.ErrProviderDown] and [access.ErrSignInRefused].
	Finish(ctx context.Context, a access.SignInAttempt, code string) (map[string]string, error)

	// Admit is who has these claims, for a link of this tenant. Errors are
	// [access.NotAdmittedError].
	Admit(tenant string, claims map[string]string) (access.Principal, error)
}

// SignedInPath is where people come back to from the provider.
const SignedInPath = "/v1/signed-in"

const (
	signingInCookie = "dormouse_signing_in"
	signedInCookie  = "dormouse_signed_in_" // and the link's id
	life            = 10 * time.Minute
	mostClaims      = 2800 // bytes; signed and with its name, a browser keeps 4,096 of a cookie
)

// What may be wrong with the way back, beside the errors of the provider.
var (
	ErrNotBegun   = errors.New("people: this browser began no such sign-in, or too long ago")
	ErrNoCode     = errors.New("people: the provider sent no code")
	ErrManyClaims = errors.New("people: the provider says more about the account than a cookie holds")
)

// Desk signs people in.
type Desk struct {
	SignIn SignIn
	Sign   func(ctx context.Context) (access.LinkKeys, error)
	Open   func(ctx context.Context, open func(access.LinkKeys) error) error
	Clock  engine.Clock
	Random interface{ Text(n int) string }
	Public access.PublicURL
}

// Begin returns where a person signs in who has opened a link, whose text is link, and gives the
// browser what it needs on the way back. Who has signed in for it already is signed out, and the
// provider asks again: another person may sit there now.
func (d *Desk) Begin(w http.ResponseWriter, r *http.Request, link string, l engine.Link) (string, error) {
	keys, err := d.Sign(r.Context())
	if err != nil {
		return "", err
	}
	s := access.SigningIn{Link: link, Expires: d.Clock.Now().Add(life),
		SignInAttempt: access.SignInAttempt{State: d.Random.Text(32), Nonce: d.Random.Text(32), Verifier: d.Random.Text(52)}}
	if _, err := r.Cookie(signedInCookie + l.ID); err == nil {
		s.Again = true
		d.setCookie(w, r, access.LinkPath+link, signedInCookie+l.ID, "")
	}
	to, err := d.SignIn.Begin(r.Context(), d.attempt(s))
	if err == nil {
		d.setCookie(w, r, SignedInPath, signingInCookie, keys.SignSigningIn(s))
	}
	return to, err
}

func (d *Desk) attempt(s access.SigningIn) access.SignInAttempt {
	a := s.SignInAttempt
	a.Redirect = d.Public.To(SignedInPath)
	return a
}

// Began is the sign-in whose way back this is, with its link. Only the browser that began has the
// cookie with the state, so no one can be signed in as another person.
func (d *Desk) Began(r *http.Request) (s access.SigningIn, err error) {
	c, err := r.Cookie(signingInCookie)
	if err != nil {
		return s, ErrNotBegun
	}
	err = d.Open(r.Context(), func(keys access.LinkKeys) (err error) {
		s, err = keys.OpenSigningIn(c.Value, d.Clock.Now())
		return err
	})
	switch q := r.URL.Query(); {
	case errors.Is(err, access.ErrBadLink), errors.Is(err, access.ErrExpiredLink):
		return s, ErrNotBegun
	case err != nil:
		return s, err
	case q.Get("state") != s.State:
		return s, ErrNotBegun
	case q.Get("code") == "":
		return s, ErrNoCode
	}
	return s, nil
}

// Finish finds out who the person is, and has the browser keep it for this link.
func (d *Desk) Finish(w http.ResponseWriter, r *http.Request, s access.SigningIn, l engine.Link) error {
	claims, err := d.SignIn.Finish(r.Context(), d.attempt(s), r.URL.Query().Get("code"))
	if err != nil {
		return err
	}
	claims = aboutPerson(claims)
	if _, err := d.admit(l.Tenant, claims); err != nil {
		return err
	}
	keys, err := d.Sign(r.Context())
	if err != nil {
		return err
	}
	kept, err := Kept(claims)
	if err != nil {
		return err
	}
	d.setCookie(w, r, access.LinkPath+s.Link, signedInCookie+l.ID, keys.SignSignedIn(access.SignedIn{Link: l.ID, Claims: kept, Expires: d.Clock.Now().Add(life)}))
	return nil
}

// Who has signed in for a link; false if no one has, who may decide.
func (d *Desk) Who(r *http.Request, l engine.Link) (access.Principal, bool) {
	c, err := r.Cookie(signedInCookie + l.ID)
	if err != nil {
		return access.Principal{}, false
	}
	var s access.SignedIn
	err = d.Open(r.Context(), func(keys access.LinkKeys) (err error) {
		s, err = keys.OpenSignedIn(c.Value, d.Clock.Now())
		return err
	})
	claims := map[string]string{}
	if err != nil || s.Link != l.ID || json.Unmarshal([]byte(s.Claims), &claims) != nil {
		return access.Principal{}, false
	}
	p, err := d.admit(l.Tenant, claims)
	return p, err == nil
}

// admit is who has signed in, as one who may decide.
func (d *Desk) admit(tenant string, claims map[string]string) (access.Principal, error) {
	p, err := d.SignIn.Admit(tenant, claims)
	switch {
	case err != nil:
		return p, err
	case p.Tenant != tenant:
		return p, access.NotAdmittedError{Why: "the account is of another tenant"}
	case !p.May(access.Decide):
		return p, access.NotAdmittedError{Why: "the account doesn't have the role decide"}
	}
	return p, nil
}

// Kept is what a cookie keeps of claims, as JSON. The error is [ErrManyClaims].
func Kept(claims map[string]string) (string, error) {
	kept := string(core.Encode(aboutPerson(claims)))
	if len(kept) > mostClaims {
		return "", ErrManyClaims
	}
	return kept, nil
}

// aboutPerson are the claims that say who the person is, and not how the token is made.
func aboutPerson(claims map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range claims {
		switch name {
		case "aud", "azp", "exp", "iat", "nbf", "nonce", "at_hash", "c_hash", "s_hash", "jti", "sid", "auth_time", "amr", "acr", "picture", "origin_jti", "event_id", "token_use":
		default:
			kept[name] = value
		}
	}
	return kept
}

// setCookie has the browser keep a value, for one path of ours; "" has it forget. Other requests
// don't carry it, however many links a person opens.
func (d *Desk) setCookie(w http.ResponseWriter, r *http.Request, path, name, value string) {
	keep := int(life / time.Second)
	if value == "" {
		keep = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: d.Public.Prefix() + path, MaxAge: keep, HttpOnly: true,
		Secure: d.Public.Secure() || r.TLS != nil, SameSite: http.SameSiteLaxMode})
}
