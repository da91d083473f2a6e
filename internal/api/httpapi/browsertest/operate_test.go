package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// streamedElsewhere serves the console as a deployed stack does: its streams are on another site,
// which takes tickets alone.
func streamedElsewhere(t *testing.T) func(*httpapi.Options) {
	return func(o *httpapi.Options) {
		keys := o.Links
		if keys == nil {
			keys = access.LinkKeys{bytes.Repeat([]byte{7}, 32)}
		}
		streams, err := httpapi.New(httpapi.Options{Frontend: o.Frontend, Clock: o.Clock, Links: keys, Part: httpapi.PartStreams, Gate: httpapi.NobodyEnters})
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := httptest.NewServer(streams)
		t.Cleanup(elsewhere.Close)
		withConsole(o)
		o.StreamURL = elsewhere.URL
		desk := &session.Desk{Anyone: true, Clock: o.Clock, Random: &frontendtest.Random{}, Public: o.PublicURL, Guesses: bounds.NewGuesses(),
			Signing: func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }}
		o.Protocols = []httpapi.Protocol{console.New(console.Options{Reads: query.New(o.Frontend), Acts: o.Frontend, Bulks: bulk.New(o.Frontend), Numbers: ops.New(o.Frontend, o.Webhooks), Deliveries: o.Webhooks,
			Sessions: desk, Clock: o.Clock, Public: o.PublicURL, Streams: elsewhere.URL})}
	}
}

// The policy of a page lets its script follow the server to where streams are, and nowhere else.
func TestAnOpenInboxHearsFromAnotherSite(t *testing.T) {
	t.Parallel()
	s := serve(t, streamedElsewhere(t))
	ctx := browser(t)
	first := s.waits(payment)
	s.openConsole(ctx, "/")
	is(t, ctx, "one row", `document.querySelectorAll("li.item").length === 1`)
	s.waits(payment)
	is(t, ctx, "the news", `document.getElementById("news").textContent === "Show 1 new question"`)
	s.denies(first)
	is(t, ctx, "the answered row", `document.querySelector("li.item.gone") !== null`)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	is(t, ctx, "another site is out of reach", fmt.Sprintf(`(window.reached ??= "", fetch(%q, {mode: "no-cors"}).then(() => reached = "yes", () => reached = "no"), reached === "no")`, other.URL))
}

// The numbers fit a small phone, and the key for them leads there.
func TestTheNumbersFitAPhone(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	for range 3 {
		s.waits(payment)
	}
	s.waits(frontendtest.Call{Tool: "pay", Deadline: s.clock.Now().Add(time.Hour).UnixMilli(), Arguments: json.RawMessage(`{"amount":1}`), Kind: core.KindApproval})
	for _, width := range []int64{320, 1280} {
		do(t, ctx, chromedp.EmulateViewport(width, 800))
		s.openConsole(ctx, "/")
		do(t, ctx, chromedp.KeyEvent("g"), chromedp.KeyEvent("o"))
		is(t, ctx, "the numbers", `document.querySelector("main h1").textContent === "Operate" && document.querySelectorAll("svg.plot rect").length > 0`)
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth`))
		if err != nil || int64(wide) > width {
			t.Errorf("%d wide on a screen of %d, %v", wide, width, err)
		}
		s.picture(ctx, fmt.Sprintf("operate-%d.png", width))
	}
}
