package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

type signInView struct {
	Form, To, Problem string
	Token             bool   // a token signs in
	Account           string // where an account signs in; empty: none does
}

// signInPage takes a token in a form, and never in an address.
func (c *Console) signInPage(w http.ResponseWriter, l look) error {
	if l.in {
		c.seeOther(w, ownPath(l.URL.Query().Get("to")))
		return nil
	}
	return c.showSignIn(w, l, http.StatusOK, l.URL.Query().Get("to"), "")
}

func (c *Console) showSignIn(w http.ResponseWriter, l look, status int, to, problem string) error {
	form, err := c.Sessions.FormOf(l.Context(), l.session)
	if err != nil {
		return err
	}
	v := signInView{Form: form, To: ownPath(to), Problem: problem, Token: c.Sessions.Tokens != nil}
	if c.Sessions.Provider != nil {
		about := url.Values{"to": {v.To}}
		if l.URL.Query().Has("out") || status != http.StatusOK {
			about.Set("again", "1")
		}
		v.Account = "/signin/begin?" + about.Encode()
	}
	return c.write(w, l, status, "signin", v)
}

// beginSignIn sends the person to the identity provider. A GET may: it stores nothing, and the
// policy of pages keeps forms from being sent on to other sites.
func (c *Console) beginSignIn(w http.ResponseWriter, l look) error {
	if c.Sessions.Provider == nil {
		return c.refuse(w, l, &refusal.Error{Code: problems.CodeNotFound, Detail: "no one signs in with an account here"})
	}
	q := l.URL.Query()
	to, err := c.Sessions.Begin(w, l.Request, ownPath(q.Get("to")), q.Get("again") != "")
	if err != nil {
		return c.providerFailed(w, l, err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// signedIn is where the person comes back to from the identity provider.
func (c *Console) signedIn(w http.ResponseWriter, l look) error {
	if c.Sessions.Provider == nil {
		return c.refuse(w, l, &refusal.Error{Code: problems.CodeNotFound, Detail: "no one signs in with an account here"})
	}
	l.in = false // who signs in is not the one who was in
	to, err := c.Sessions.Finish(w, l.Request)
	_, not := errors.AsType[access.NotAdmittedError](err)
	switch {
	case err == nil:
		c.seeOther(w, ownPath(to))
		return nil
	case not:
		c.Logger.WarnContext(l.Context(), "a person who signed in is not admitted", "reason", err)
		return c.showSignIn(w, l, http.StatusForbidden, "", say("signin.not_admitted"))
	case errors.Is(err, people.ErrNotBegun):
		return c.showSignIn(w, l, http.StatusForbidden, "", say("signin.not_begun"))
	case errors.Is(err, people.ErrManyClaims):
		return c.showSignIn(w, l, http.StatusForbidden, "", say("signin.claims"))
	case errors.Is(err, access.ErrSignInRefused), errors.Is(err, people.ErrNoCode):
		return c.showSignIn(w, l, http.StatusForbidden, "", say("signin.refused"))
	}
	return c.providerFailed(w, l, err)
}

// providerFailed is for what the person can do nothing about.
func (c *Console) providerFailed(w http.ResponseWriter, l look, err error) error {
	if !errors.Is(err, access.ErrProviderDown) {
		return err
	}
	c.Logger.WarnContext(l.Context(), "the identity provider failed", "error", err)
	return c.refuse(w, l, &refusal.Error{Code: refusal.CodeUnavailable, Detail: "the identity provider can't be reached now; try again later"})
}

func (c *Console) signIn(w http.ResponseWriter, l look) error {
	l.in = false // who signs in is not the one who was in
	form, err := c.readForm(w, l)
	if err == nil {
		err = c.Sessions.SignIn(w, l.Request, strings.TrimSpace(form.Get("token")))
	}
	e, known := problems.Refused(err)
	switch {
	case err == nil:
		c.seeOther(w, ownPath(form.Get("to")))
		return nil
	case known && e.Code != refusal.CodeUnavailable:
		return c.showSignIn(w, l, problems.Of(e.Code).Status, form.Get("to"), e.Detail)
	}
	return c.refuse(w, l, err)
}

func (c *Console) signOut(w http.ResponseWriter, l look) error {
	if _, err := c.readForm(w, l); err != nil {
		return c.refuse(w, l, err)
	}
	if err := c.Sessions.SignOut(w, l.Request, l.session); err != nil {
		return c.refuse(w, l, err)
	}
	c.seeOther(w, "/signin?out=1")
	return nil
}

// ownPath is a path of the console to come back to. An address of another site, however it is
// written, becomes the inbox.
func ownPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return u.EscapedPath()
}
