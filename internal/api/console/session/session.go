// Package session keeps who has signed in to the console: in a signed cookie that names a token,
// and is no good without it, or that has the claims of an account; see [Accounts].
//
//	POST /signin, with a token ── cookie: name and fingerprint of the token, 12 hours
//	any page ── not ended? the token of that name still has that fingerprint? ── principal
//	POST /signout ── the session's id is stored until the cookie would have expired
package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const (
	// life is how long a person stays signed in.
	life = 12 * time.Hour

	cookieName = "dormouse_console"
	// browsers take a cookie of this prefix only from the host itself, over a secure connection
	hostPrefix = "__Host-"

	// guesses at tokens share one bound: no address of a caller can be trusted
	guessesOf = "console"
)

// Desk signs people in and out.
type Desk struct {
	Anyone bool         // everyone is admitted, without a sign-in
	Tokens httpapi.Keys // nil: no one signs in with a token
	Ended  Ended        // needed where people sign in
	Accounts
	Signing access.LinkSource
	Clock   engine.Clock
	Random  interface{ Text(n int) string }
	Public  access.PublicURL
	Guesses *bounds.Guesses
}

// Ended is where all processes of a deployment keep which sessions were ended before they expire: a
// cookie that was copied is as good as the first one until then. Its errors are
// [engine.ErrUnavailable].
type Ended interface {
	// EndSession may be repeated. The record is kept until the session expires.
	EndSession(ctx context.Context, id string, expires time.Time) error
	SessionEnded(ctx context.Context, id string) (bool, error)
}

// Open reads the browser's session, and begins one for a browser that has none: forms need it.
func (d *Desk) Open(w http.ResponseWriter, r *http.Request) (access.Session, error) {
	if s, ok, err := d.read(r); ok || err != nil {
		return s, err
	}
	s := access.Session{ID: d.Random.Text(26), Expires: d.Clock.Now().Add(life)}
	return s, d.keep(w, r, s)
}

// Who is the principal of a session; ok is false if no one has signed in, or has signed out, or the
// token was taken away since.
func (d *Desk) Who(ctx context.Context, s access.Session) (p access.Principal, ok bool, err error) {
	switch {
	case d.Anyone:
		return access.Anyone(), true, nil
	case !signedIn(s):
		return p, false, nil
	}
	if ended, err := d.Ended.SessionEnded(ctx, s.ID); err != nil || ended {
		return p, false, err
	}
	switch {
	case s.Claims != "":
		p, ok = d.account(s)
		return p, ok, nil
	case d.Tokens == nil:
		return p, false, nil
	}
	p, ok, err = d.Tokens.Named(ctx, s.Name)
	return p, ok && p.Fingerprint == s.Fingerprint && p.Tenant == s.Tenant, err
}

// signedIn says whether someone has signed in, now or before.
func signedIn(s access.Session) bool { return s.Claims != "" || s.Name != "" }

// SignIn begins a new session for the holder of a token. A token that is wrong is never repeated,
// kept or logged.
func (d *Desk) SignIn(w http.ResponseWriter, r *http.Request, token string) error {
	if d.Anyone {
		return nil
	}
	if d.Tokens == nil {
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "no one signs in with an access token here"}
	}
	done, ok := d.Guesses.Begin(guessesOf, d.Clock.Now())
	if !ok {
		return &refusal.Error{Code: problems.CodeRateLimited, RetryAfter: bounds.EveryGuess, Detail: "too many access tokens were wrong; wait a minute, then try again"}
	}
	p, found, err := d.Tokens.Find(r.Context(), token)
	done(err == nil && !found)
	if err == nil && !found {
		err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the server doesn't know this access token"}
	}
	if err != nil {
		return err
	}
	return d.keep(w, r, access.Session{ID: d.Random.Text(26), Tenant: p.Tenant, Name: p.Name, Fingerprint: p.Fingerprint, Expires: d.Clock.Now().Add(life)})
}

// SignOut ends a session, also for who has a copy of its cookie. If that can't be stored, the
// browser keeps the cookie: the person has to know, and to try again.
func (d *Desk) SignOut(w http.ResponseWriter, r *http.Request, s access.Session) error {
	if signedIn(s) && !d.Anyone {
		if err := d.Ended.EndSession(r.Context(), s.ID, s.Expires); err != nil {
			return err
		}
	}
	d.set(w, r, cookieName, "", -1)
	return nil
}

// FormOf is what forms of the session carry.
func (d *Desk) FormOf(ctx context.Context, s access.Session) (string, error) {
	keys, err := d.Signing(ctx, access.KeysAge)
	if err != nil {
		return "", err
	}
	return keys.SignPage(s), nil
}

// IsForm says whether a form was drawn for this session.
func (d *Desk) IsForm(ctx context.Context, s access.Session, signed string) (bool, error) {
	_, err := access.OpenSigned(ctx, d.Signing, func(keys access.LinkKeys) (struct{}, error) {
		return struct{}{}, keys.OpenPage(signed, s, d.Clock.Now())
	})
	return err == nil, unlessUnsigned(err)
}

func (d *Desk) read(r *http.Request) (s access.Session, ok bool, err error) {
	c, err := r.Cookie(d.cookie(r, cookieName))
	if err != nil {
		return s, false, nil
	}
	s, err = access.OpenSigned(r.Context(), d.Signing, func(keys access.LinkKeys) (access.Session, error) { return keys.OpenSession(c.Value, d.Clock.Now()) })
	return s, err == nil, unlessUnsigned(err)
}

// unlessUnsigned is err, unless that only says that a text isn't one of this server, or not any
// more.
func unlessUnsigned(err error) error {
	if errors.Is(err, access.ErrBadLink) || errors.Is(err, access.ErrExpiredLink) {
		return nil
	}
	return err
}

func (d *Desk) keep(w http.ResponseWriter, r *http.Request, s access.Session) error {
	keys, err := d.Signing(r.Context(), access.KeysAge)
	if err == nil {
		d.set(w, r, cookieName, keys.SignSession(s), int(life/time.Second))
	}
	return err
}

func (d *Desk) secure(r *http.Request) bool { return d.Public.Secure() || r.TLS != nil }

func (d *Desk) cookie(r *http.Request, name string) string {
	if d.secure(r) {
		return hostPrefix + name
	}
	return name
}

// set gives the browser a value to keep. SameSite is Lax: a person who comes from a mail has to
// arrive signed in.
func (d *Desk) set(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: d.cookie(r, name), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: d.secure(r), SameSite: http.SameSiteLaxMode})
}
