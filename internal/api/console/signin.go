package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

type signInView struct{ Form, To, Problem string }

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
	return c.write(w, l, status, "signin", signInView{Form: form, To: ownPath(to), Problem: problem})
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
	c.Sessions.SignOut(w, l.Request)
	c.seeOther(w, "/signin")
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
