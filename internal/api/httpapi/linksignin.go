package httpapi

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/dormouse-dev/dormouse/internal/api/access"
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
	if l.record.Require != engine.RequireToken {
		return nil
	}
	if !a.checksTokens() {
		return &refusal.Error{Code: codeForbidden, Detail: "this server can't check access tokens on the page of a link; decide with your token by the API"}
	}
	if typed = strings.TrimSpace(typed); typed == "" && r.Header.Get("Authorization") == "" {
		return &refusal.Error{Code: codeUnauthorized, Detail: "this link is answered with an access token; enter yours, or send it as Authorization: Bearer TOKEN"}
	}
	done, err := a.guesses.begin(l.record.ID, a.clock.Now())
	if err != nil {
		return err
	}
	wrong := false
	defer func() { done(wrong) }()
	p, err := a.tokenOf(r, typed)
	if err == nil && p.Tenant != l.link.Tenant {
		err = &refusal.Error{Code: codeUnauthorized, Detail: "the server doesn't know this access token"}
	}
	if err == nil {
		err = authorize(p, []access.Role{access.Decide})
	}
	e, known := refused(err)
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
		err = &refusal.Error{Code: codeUnauthorized, Detail: "the server doesn't know this access token"}
	}
	return p, err
}

// guesses bound how often wrong tokens are tried by one link.
type guesses struct {
	mu   sync.Mutex
	link map[string]*tries
}

// tries are those by one link: how many more may be wrong, and how many are being looked at.
type tries struct {
	left *rate.Limiter
	open int
}

const (
	mostGuesses = 10          // at once
	everyGuess  = time.Minute // gives one more
	mostGuessed = 10_000      // links remembered; signatures bound them before
)

func newGuesses() *guesses { return &guesses{link: map[string]*tries{}} }

// begin refuses another try after too many wrong ones. A try that is being looked at counts as
// wrong until done is called, so that requests at the same moment have no more tries than others.
func (g *guesses) begin(link string, now time.Time) (done func(wrong bool), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.link[link]
	if t == nil {
		if len(g.link) >= mostGuessed {
			clear(g.link)
		}
		t = &tries{left: rate.NewLimiter(rate.Every(everyGuess), mostGuesses)}
		g.link[link] = t
	}
	if t.left.TokensAt(now)-float64(t.open) < 1 {
		return nil, &refusal.Error{Code: codeRateLimited, RetryAfter: everyGuess, Detail: "too many access tokens were wrong; wait a minute, then try again"}
	}
	t.open++
	return func(wrong bool) { g.end(link, t, wrong, now) }, nil
}

func (g *guesses) end(link string, t *tries, wrong bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.open--
	switch {
	case wrong:
		t.left.AllowN(now, 1)
	case t.open == 0 && g.link[link] == t && t.left.TokensAt(now) >= mostGuesses:
		delete(g.link, link) // nothing to remember
	}
}
