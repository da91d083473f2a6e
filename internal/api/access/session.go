package access

import (
	"errors"
	"time"
)

// Session is who has signed in to the console in one browser: the holder of a token, or an account
// of an identity provider. It grants no more than the token it was begun with, and ends with that
// token.
type Session struct {
	ID          string // new at each sign-in; forms carry a signature of it
	Tenant      string
	Name        string // of the token, see [Principal]; empty: no token was entered
	Fingerprint string
	Claims      string    // of the account, as JSON; empty: no account has signed in
	Expires     time.Time // to the second
}

const (
	sessionForm = "console-session-1"
	accountForm = "console-account-1"
	enterForm   = "console-signing-in-1"
	pageForm    = "console-form-1"
)

// SignSession is the cookie's text. The first key signs it.
func (k LinkKeys) SignSession(s Session) string {
	if s.Claims != "" {
		return k.sign(accountForm, s.Expires, s.ID, s.Claims)
	}
	return k.sign(sessionForm, s.Expires, s.ID, s.Tenant, s.Name, s.Fingerprint)
}

// OpenSession reads what [LinkKeys.SignSession] wrote, by any of the keys. Its errors are those of
// [LinkKeys.Open].
func (k LinkKeys) OpenSession(signed string, now time.Time) (Session, error) {
	f, expires, err := k.open(sessionForm, signed, 4, now)
	if errors.Is(err, ErrBadLink) {
		if f, expires, err = k.open(accountForm, signed, 2, now); err == nil {
			return Session{ID: f[0], Claims: f[1], Expires: expires}, nil
		}
	}
	if err != nil {
		return Session{}, err
	}
	return Session{ID: f[0], Tenant: f[1], Name: f[2], Fingerprint: f[3], Expires: expires}, nil
}

// SignPage is what a form of the session has in it, so that no other site can send one.
func (k LinkKeys) SignPage(s Session) string { return k.sign(pageForm, s.Expires, s.ID) }

// OpenPage checks what [LinkKeys.SignPage] wrote for this session. Its errors are those of
// [LinkKeys.Open]; a form of another session is [ErrBadLink].
func (k LinkKeys) OpenPage(signed string, s Session, now time.Time) error {
	f, _, err := k.open(pageForm, signed, 1, now)
	if err == nil && f[0] != s.ID {
		err = ErrBadLink
	}
	return err
}

// SignEntering is what the browser of a person keeps who was sent to the identity provider from the
// console. Link is the path to come back to. The first key signs it. It opens no link.
func (k LinkKeys) SignEntering(s SigningIn) string {
	return k.sign(enterForm, s.Expires, s.Link, s.State, s.Nonce, s.Verifier)
}

// OpenEntering reads what [LinkKeys.SignEntering] wrote, by any of the keys. Its errors are those
// of [LinkKeys.Open].
func (k LinkKeys) OpenEntering(signed string, now time.Time) (SigningIn, error) {
	f, expires, err := k.open(enterForm, signed, 4, now)
	if err != nil {
		return SigningIn{}, err
	}
	return SigningIn{Link: f[0], SignInAttempt: SignInAttempt{State: f[1], Nonce: f[2], Verifier: f[3]}, Expires: expires}, nil
}
