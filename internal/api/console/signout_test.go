package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// copied is a browser with the cookies of another one.
func (b *browser) copied() *browser {
	b.Helper()
	at, err := url.Parse(b.url)
	if err != nil {
		b.Fatal(err)
	}
	other := b.browser()
	other.Jar.SetCookies(at, b.Jar.Cookies(at))
	return other
}

// Signing out ends the session, and not only the cookie of one browser.
func TestACopiedCookieIsNoGoodAfterTheSignOut(t *testing.T) {
	byToken, o := newServer(t), newOffice(t)
	for name, tt := range map[string]struct {
		s    *server
		anna *browser
	}{"a token": {byToken, byToken.signedIn("anna")}, "an account": {o.server, o.enters(anna)}} {
		t.Run(name, func(t *testing.T) {
			run, sus := tt.s.waits(`"go"`, payment("50"))
			of := "/questions/" + sus
			thief := tt.anna.copied()
			page := thief.get(of)
			if page.status != http.StatusOK || !strings.Contains(page.text, ">Approve</button>") {
				t.Fatalf("with a copy of the cookie: %d %s", page.status, page.text)
			}
			if got := tt.anna.post("/signout", url.Values{"form": {tt.anna.get("/").form()}}); got.status != http.StatusSeeOther || !strings.HasPrefix(got.to, "/signin") {
				t.Fatalf("%d to %q", got.status, got.to)
			}
			for _, path := range []string{"/", of, "/live"} {
				if got := thief.get(path); got.status != http.StatusSeeOther || !strings.HasPrefix(got.to, "/signin") {
					t.Errorf("%s: %d to %q", path, got.status, got.to)
				}
			}
			if got := thief.post(of, page.approval()); got.status != http.StatusSeeOther || !strings.HasPrefix(got.to, "/signin") || len(tt.s.pending(run)) != 1 {
				t.Errorf("an answer: %d to %q", got.status, got.to)
			}
		})
	}
}

// unwritable can't store that a session was ended.
type unwritable struct{ session.Ended }

func (unwritable) EndSession(context.Context, string, time.Time) error { return engine.ErrUnavailable }

// A sign-out that could not be stored isn't one: the person can try again.
func TestASignOutThatIsNotStoredSaysSo(t *testing.T) {
	s := newServerWith(t, access.PublicURL{}, func(d *session.Desk) { d.Ended = unwritable{d.Ended} })
	anna := s.signedIn("anna")
	got := anna.post("/signout", url.Values{"form": {anna.get("/").form()}})
	if got.status != http.StatusServiceUnavailable || anna.get("/").status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.text)
	}
}
