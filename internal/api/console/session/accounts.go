package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
)

// Provider is an identity provider. Its contracts are those of [people.SignIn].
type Provider interface {
	Begin(ctx context.Context, a access.SignInAttempt) (string, error)
	Finish(ctx context.Context, a access.SignInAttempt, code string) (map[string]string, error)
}

// Accounts are the people who sign in at an identity provider.
//
//	/signin/begin ── provider ── /signed-in?code ── cookie: claims, 12 hours ── any page
//	      └─ cookie: state, nonce, verifier, page ─┘                what do they admit to?
type Accounts struct {
	Provider Provider // nil: no one signs in at one

	// Admit says who has these claims and what the person may do. It is asked at each request,
	// so that a changed rule counts at once. Errors are [access.NotAdmittedError].
	Admit func(claims map[string]string) (access.Principal, error)
}

// SignedInPath is where people come back to from the provider.
const SignedInPath = "/signed-in"

const (
	enteringCookie = "dormouse_console_signing_in"
	enteringLife   = 10 * time.Minute
)

// Begin returns where a person signs in, who then comes back to a page of the console. It decides
// nothing, and changes nothing but a cookie. again: the provider asks who the person is, although
// it may know.
func (d *Desk) Begin(w http.ResponseWriter, r *http.Request, page string, again bool) (string, error) {
	keys, err := d.Signing(r.Context(), access.KeysAge)
	if err != nil {
		return "", err
	}
	s := access.SigningIn{Link: page, Expires: d.Clock.Now().Add(enteringLife),
		SignInAttempt: access.SignInAttempt{State: d.Random.Text(32), Nonce: d.Random.Text(32), Verifier: d.Random.Text(52), Again: again}}
	to, err := d.Provider.Begin(r.Context(), d.attempt(s))
	if err == nil {
		d.set(w, r, enteringCookie, keys.SignEntering(s), int(enteringLife/time.Second))
	}
	return to, err
}

func (d *Desk) attempt(s access.SigningIn) access.SignInAttempt {
	a := s.SignInAttempt
	a.Redirect = d.Public.To(SignedInPath)
	return a
}

// Finish begins a new session for the person who came back, and returns the page to show. Only the
// browser that began has the cookie with the state: no one can be signed in as another person by a
// link. The cookie is good for one way back. Errors are those of [people.Desk], and
// [access.NotAdmittedError].
func (d *Desk) Finish(w http.ResponseWriter, r *http.Request) (page string, err error) {
	s, err := d.began(r)
	d.set(w, r, enteringCookie, "", -1)
	if err != nil {
		return "", err
	}
	claims, err := d.Provider.Finish(r.Context(), d.attempt(s), r.URL.Query().Get("code"))
	if err != nil {
		return "", err
	}
	kept, err := people.Kept(claims)
	if err != nil {
		return "", err
	}
	// by what is kept: a claim that is not would admit the person once, and never again
	if _, err = d.admitted(kept); err != nil {
		return "", err
	}
	return s.Link, d.keep(w, r, access.Session{ID: d.Random.Text(26), Claims: kept, Expires: d.Clock.Now().Add(life)})
}

func (d *Desk) began(r *http.Request) (s access.SigningIn, err error) {
	c, err := r.Cookie(d.cookie(r, enteringCookie))
	if err != nil {
		return s, people.ErrNotBegun
	}
	s, err = access.OpenSigned(r.Context(), d.Signing, func(keys access.LinkKeys) (access.SigningIn, error) { return keys.OpenEntering(c.Value, d.Clock.Now()) })
	switch q := r.URL.Query(); {
	case errors.Is(err, access.ErrBadLink), errors.Is(err, access.ErrExpiredLink):
		return s, people.ErrNotBegun
	case err != nil:
		return s, err
	case q.Get("state") != s.State:
		return s, people.ErrNotBegun
	case q.Get("code") == "":
		return s, people.ErrNoCode
	}
	return s, nil
}

// account is whose claims a session has; ok is false for one who is not admitted any more.
func (d *Desk) account(s access.Session) (p access.Principal, ok bool) {
	p, err := d.admitted(s.Claims)
	return p, err == nil
}

// admitted is who has these claims, as a session keeps them.
func (d *Desk) admitted(kept string) (p access.Principal, err error) {
	claims := map[string]string{}
	if d.Admit == nil || json.Unmarshal([]byte(kept), &claims) != nil {
		return p, access.NotAdmittedError{Why: "no account is admitted here"}
	}
	return d.Admit(claims)
}
