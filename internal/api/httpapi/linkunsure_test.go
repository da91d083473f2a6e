package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// losingStore stores signals, or doesn't, and then fails in a way that doesn't say which.
type losingStore struct {
	frontend.Store
	fails  error // nil: it works
	stores bool
}

func (s *losingStore) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	if s.fails == nil {
		return s.Store.Signal(ctx, req)
	}
	if s.stores {
		if _, err := s.Store.Signal(ctx, req); err != nil {
			return engine.Written{}, err
		}
	}
	return engine.Written{}, s.fails
}

// The page of a link says where it isn't known whether an answer was stored, and its form sends the
// same one again.
func TestAnAnswerByALinkThatMayBeStored(t *testing.T) {
	for why, fails := range map[string]error{"a fault": errors.New("secret-path"), "a store that is away": fmt.Errorf("secret-path: %w", engine.ErrUnavailable)} {
		for _, stores := range []bool{true, false} {
			if stores && errors.Is(fails, engine.ErrUnavailable) {
				continue // the server asks the store again, and knows
			}
			t.Run(fmt.Sprintf("%s, stored %v", why, stores), func(t *testing.T) {
				store := &losingStore{stores: stores}
				s := newServer(t, settings{token: "secret", options: withLinks, wrap: func(f frontend.Store) frontend.Store { store.Store = f; return store }})
				run := s.start()
				s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
				link := s.makeLink(run.ID, "c1", "anna").Link
				form := url.Values{"action": {"cancel"}, "shown": {shownOn(t, s.send("GET", link, "", asPage))}, "reason": {"no \"<b>\" more"}}
				store.fails = fails
				page := s.unchecked("POST", link, form.Encode(), asPage, asForm)
				if page.StatusCode < 500 || !strings.Contains(page.text, "We do not know whether your answer arrived") || strings.Contains(page.text, "secret") || strings.Contains(page.text, "<b>") {
					t.Fatalf("%d %s", page.StatusCode, page.text)
				}
				again := url.Values{"action": {"cancel"}, "shown": {hidden(page, "shown")}, "reason": {hidden(page, "reason")}}
				if !strings.Contains(page.text, `name="action" value="cancel">Send my answer again: No`) || again.Encode() != form.Encode() {
					t.Fatalf("its form is %v\n%s", again, page.text)
				}
				store.fails = nil
				want := map[bool]int{true: 200, false: 202}[stores]
				if got := s.send("POST", link, again.Encode(), asPage, asForm); got.StatusCode != want {
					t.Errorf("sent again: %d %s", got.StatusCode, got.text)
				}
				if o := decoded[wire.Outcome](t, s.send("GET", link, "").text); o.Decision == nil || o.Decision.Action != "cancel" {
					t.Errorf("stored is %+v", o)
				}
			})
		}
	}
}

// An undo by a link of which it isn't known whether it counted is sent again, too.
func TestAnUndoByALinkThatMayBeStored(t *testing.T) {
	for _, stores := range []bool{true, false} {
		t.Run(fmt.Sprintf("stored %v", stores), func(t *testing.T) {
			store := &losingStore{stores: stores}
			s := newServer(t, settings{token: "secret", options: withHold, wrap: func(f frontend.Store) frontend.Store { store.Store = f; return store }})
			run := s.start()
			s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
			link := s.makeLink(run.ID, "c1", "anna").Link
			asked := s.send("GET", link, "", asPage)
			undo := undoOf(s.send("POST", link, url.Values{"action": {"resume"}, "shown": {shownOn(t, asked)}, "hold": {hidden(asked, "hold")}}.Encode(), asPage, asForm))
			store.fails = errors.New("secret-path")
			page := s.unchecked("POST", link, undo.Encode(), asPage, asForm)
			if page.StatusCode < 500 || !strings.Contains(page.text, "We do not know whether your undo arrived") || strings.Contains(page.text, "secret") || !strings.Contains(page.text, `name="action" value="withdraw">Undo my answer again`) {
				t.Fatalf("%d %s", page.StatusCode, page.text)
			}
			store.fails = nil
			for range 2 {
				if got := s.send("POST", link, undoOf(page).Encode(), asPage, asForm); got.StatusCode != 200 || !strings.Contains(got.text, "You took your answer back. Nothing was done.") {
					t.Errorf("sent again: %d %s", got.StatusCode, got.text)
				}
			}
		})
	}
}
