package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// peopleDesk signs people in at a provider; nil for none.
func (a *api) peopleDesk(s people.SignIn) (*people.Desk, error) {
	switch {
	case s == nil:
		return nil, nil
	case a.public.String() == "" || a.links == nil:
		return nil, errors.New("httpapi: people can't sign in without link keys and the public URL that they come back to")
	}
	return &people.Desk{SignIn: s, Clock: a.clock, Random: a.front.Random, Public: a.public,
		Sign: func(ctx context.Context) (access.LinkKeys, error) { return a.links(ctx, access.KeysAge) },
		Open: func(ctx context.Context, open func(access.LinkKeys) error) error {
			_, err := access.OpenSigned(ctx, a.links, func(keys access.LinkKeys) (struct{}, error) { return struct{}{}, open(keys) })
			return err
		}}, nil
}

func (a *api) signInRoutes() []route {
	good := []refusal.Code{problems.CodeNotFound, problems.CodeLinkExpired, problems.CodeLinkRevoked, refusal.CodeLinkNotFound, refusal.CodeRunNotFound, refusal.CodeCallNotFound}
	return []route{
		{method: http.MethodGet, path: "/v1/approvals/{token}/sign-in", name: "beginSignIn", tag: "decisions", title: "Sign in to answer an approval link", link: true,
			about:   "Sends a browser to the operator's identity provider, for links with `require: sign_in`. It decides nothing.",
			answers: []answered{{status: 303, about: "`Location` is the address at which the person signs in.", headers: []string{"Set-Cookie"}}},
			codes:   good, serve: a.beginSignIn},
		{method: http.MethodGet, path: people.SignedInPath, name: "finishSignIn", tag: "decisions", title: "Come back from the identity provider", link: true,
			about:   "The redirect address that the identity provider knows. It sends the browser back to the page of the link, which then has the answer's buttons. It decides nothing.",
			params:  []param{inQuery("code", "From the provider."), inQuery("state", "From the provider.")},
			answers: []answered{{status: 303, about: "`Location` is the page of the link.", headers: []string{"Set-Cookie"}}},
			codes:   append([]refusal.Code{problems.CodeForbidden}, good...), serve: a.finishSignIn},
	}
}

// beginSignIn sends the person to the provider. It changes nothing here.
func (a *api) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err == nil && (l.record.Require != engine.RequireSignIn || a.people == nil) {
		err = &refusal.Error{Code: problems.CodeNotFound, Detail: "no one signs in to answer by this link; open the link itself"}
	}
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	to, err := a.people.Begin(w, r, r.PathValue("token"), l.record)
	if err != nil {
		return a.linkRefused(w, r, l, a.signInFailed(err))
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the address of this page is a secret
	seeOther(w, to)
	return nil
}

// finishSignIn is where the person comes back to.
func (a *api) finishSignIn(w http.ResponseWriter, r *http.Request) error {
	l := question{Question: linkpage.Question{Product: a.names.ProductName()}}
	if a.people == nil {
		return a.linkRefused(w, r, l, a.signInFailed(people.ErrNotBegun))
	}
	s, failed := a.people.Began(r)
	if failed != nil && !errors.Is(failed, people.ErrNoCode) {
		return a.linkRefused(w, r, l, a.signInFailed(failed))
	}
	r.SetPathValue("token", s.Link)
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if failed == nil {
		failed = a.people.Finish(w, r, s, l.record)
	}
	if failed != nil {
		return a.linkRefused(w, r, l, a.signInFailed(failed))
	}
	seeOther(w, a.public.To(access.LinkPath+s.Link))
	return nil
}

// seeOther sends a browser to another address, and keeps that out of caches.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// signedIn makes the caller of a link that requires it the person who has signed in, if one has.
func (a *api) signedIn(r *http.Request, l *question) {
	if l.record.Require != engine.RequireSignIn || a.people == nil {
		return
	}
	l.SignInAt = a.public.To(access.LinkPath + r.PathValue("token") + "/sign-in")
	if p, in := a.people.Who(r, l.record); in {
		l.caller, l.Person = frontend.Account(l.record, p), p.Name
	}
}

func (a *api) mustBeSignedIn(l *question) error {
	if l.Person == "" {
		return &refusal.Error{Code: problems.CodeUnauthorized, Detail: "this link is answered by a person who has signed in; open it in a browser"}
	}
	return nil
}

func (a *api) signInFailed(err error) error {
	if _, not := errors.AsType[access.NotAdmittedError](err); not {
		a.log.Warn("a person who signed in is not admitted", "reason", err)
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "this account may not answer here; sign in with another one, or ask the operator"}
	}
	switch {
	case errors.Is(err, people.ErrNotBegun):
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "this sign-in was not begun here, or took longer than 10 minutes; open the link and sign in again"}
	case errors.Is(err, people.ErrManyClaims):
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "the identity provider says too much about this account; have it issue fewer claims to this client"}
	case errors.Is(err, access.ErrSignInRefused), errors.Is(err, people.ErrNoCode):
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "the identity provider did not sign you in; open the link to try again"}
	}
	a.log.Warn("the identity provider failed", "error", err)
	return &refusal.Error{Code: refusal.CodeUnavailable, Detail: "the identity provider can't be reached now; try again later"}
}
