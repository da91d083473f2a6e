package httpapi

import (
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// checksTokens reports whether the server knows tokens itself. Behind an authorizer it doesn't: the
// authorizer passes requests for links without looking at them.
func (a *api) checksTokens() bool { return a.gate == nil && a.keys != nil }

// signIn makes the caller of a link that asks for a token the token's own. typed is the token from
// the page; programs send it in the header Authorization. A token that was wrong is never repeated,
// kept or logged.
func (a *api) signIn(r *http.Request, l *question, typed string) error {
	switch l.record.Require {
	case engine.RequireSignIn:
		return a.mustBeSignedIn(l)
	case engine.RequireToken:
	default:
		return nil
	}
	if !a.checksTokens() {
		return &refusal.Error{Code: problems.CodeForbidden, Detail: "this server can't check access tokens on the page of a link; decide with your token by the API"}
	}
	if typed = strings.TrimSpace(typed); typed == "" && r.Header.Get("Authorization") == "" {
		return &refusal.Error{Code: problems.CodeUnauthorized, Detail: "this link is answered with an access token; enter yours, or send it as Authorization: Bearer TOKEN"}
	}
	done, ok := a.guesses.Begin(l.record.ID, a.clock.Now())
	if !ok {
		return &refusal.Error{Code: problems.CodeRateLimited, RetryAfter: bounds.EveryGuess, Detail: "too many access tokens were wrong; wait a minute, then try again"}
	}
	wrong := false
	defer func() { done(wrong) }()
	p, err := a.tokenOf(r, typed)
	if err == nil && p.Tenant != l.link.Tenant {
		err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the server doesn't know this access token"}
	}
	if err == nil {
		err = authorize(p, []access.Role{access.Decide})
	}
	e, known := problems.Refused(err)
	wrong = err != nil && known && e.Code != refusal.CodeUnavailable
	if err == nil {
		l.caller = frontend.SignedIn(l.record, p)
	}
	return err
}

func (a *api) tokenOf(r *http.Request, typed string) (access.Principal, error) {
	if typed == "" {
		return a.who(r)
	}
	p, ok, err := a.keys.Find(r.Context(), typed)
	switch {
	case err != nil:
		err = cannotTell(err)
	case !ok:
		err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the server doesn't know this access token"}
	}
	return p, err
}
