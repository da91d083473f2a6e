package access

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// SignInAttempt is what belongs to one sign-in at an identity provider. State, nonce and verifier
// are random.
type SignInAttempt struct {
	Redirect string // where the person comes back to
	State    string // what the provider sends back
	Nonce    string // what it puts into the token
	Verifier string // of the code, see RFC 7636

	// Again: the provider asks who the person is, although it may know already.
	Again bool
}

// What may go wrong with a sign-in.
var (
	// the provider did not confirm who the person is, or what it sent is not for this attempt
	ErrSignInRefused = errors.New("access: the provider did not confirm the sign-in")

	// the provider did not answer, or its answer can't be read
	ErrProviderDown = errors.New("access: the provider did not answer")
)

// CheckIssuer says what is wrong with the address of an identity provider, which must have https
// unless it is on this machine.
func CheckIssuer(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" {
		return fmt.Errorf("%q is not an address with https; write it as the provider's tokens name it, such as https://accounts.example.com", text)
	}
	return nil
}

// SigningIn is what the browser of a person keeps who was sent to the identity provider from the
// page of a link. It comes back only in a cookie: who has not begun can't finish.
type SigningIn struct {
	Link string // the text of the link, which the person comes back to
	SignInAttempt
	Expires time.Time
}

// SignedIn is who has signed in on the page of a link. It is good for this link alone.
type SignedIn struct {
	Link    string // its id
	Claims  string // as JSON
	Expires time.Time
}

// Person is who has signed in by these claims, where the server knows no other way to tell what the
// person may do: who was sent a link of this tenant, and may decide.
func Person(tenant string, claims map[string]string) (Principal, error) {
	if claims["sub"] == "" {
		return notAdmitted("the token has no claim sub to identify the person")
	}
	name := claims["sub"]
	if claims["email"] != "" && claims["email_verified"] == "true" {
		name = claims["email"]
	}
	of := claims["iss"] + "\x00" + claims["sub"]
	return Principal{Tenant: tenant, Name: nameFor(name, of), Person: true, Roles: []Role{Decide}, Claims: claims, Fingerprint: digestOf(of)}, nil
}

// SignedIn is who has signed in by these claims, where they name the tenant and the roles as those
// of a caller's token do.
func (a Admission) SignedIn(_ string, claims map[string]string) (Principal, error) {
	p, err := a.JWT(claims)
	if err != nil {
		return p, err
	}
	known, err := Person(p.Tenant, claims)
	known.Roles = p.Roles
	return known, err
}

// The first words of what is signed tell these from links and tickets.
const (
	signingInForm = "link-signing-in-1"
	signedInForm  = "link-signed-in-1"
)

// SignSigningIn is the cookie's text. The first key signs it.
func (k LinkKeys) SignSigningIn(s SigningIn) string {
	return k.sign(signingInForm, s.Expires, s.Link, s.State, s.Nonce, s.Verifier)
}

// OpenSigningIn reads what [LinkKeys.SignSigningIn] wrote, by any of the keys. Its errors are those
// of [LinkKeys.Open].
func (k LinkKeys) OpenSigningIn(signed string, now time.Time) (SigningIn, error) {
	f, expires, err := k.open(signingInForm, signed, 4, now)
	if err != nil {
		return SigningIn{}, err
	}
	return SigningIn{Link: f[0], SignInAttempt: SignInAttempt{State: f[1], Nonce: f[2], Verifier: f[3]}, Expires: expires}, nil
}

// SignSignedIn is the cookie's text. The first key signs it.
func (k LinkKeys) SignSignedIn(s SignedIn) string {
	return k.sign(signedInForm, s.Expires, s.Link, s.Claims)
}

// OpenSignedIn reads what [LinkKeys.SignSignedIn] wrote, by any of the keys. Its errors are those
// of [LinkKeys.Open].
func (k LinkKeys) OpenSignedIn(signed string, now time.Time) (SignedIn, error) {
	f, expires, err := k.open(signedInForm, signed, 2, now)
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{Link: f[0], Claims: f[1], Expires: expires}, nil
}
