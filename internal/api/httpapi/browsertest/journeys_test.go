package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// stored is what the run's journal has of the answer to its question.
func (s *server) stored(run wire.Run) *client.OutcomeDecision {
	s.t.Helper()
	found, err := s.client.Suspension(s.t.Context(), run.Pending[0].Suspension.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	if found.Outcome == nil {
		return nil
	}
	return found.Outcome.Decision
}

// pressed presses what says so, and waits for its form to be answered.
func (s *server) pressed(ctx context.Context, text string) {
	s.t.Helper()
	s.postedBy(ctx, chromedp.Click(`//main//button[normalize-space()="`+text+`"]`))
}

func (s *server) reads(ctx context.Context, text string) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(ctx, waits)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.WaitVisible(`//h1[contains(., "`+text+`")]`)); err != nil {
		s.t.Fatalf("the page doesn't say %q: %v", text, err)
	}
}

// From the inbox to the outcome, without a script of the page: what a button says is what is
// stored, and what is stored is what the page then says.
func TestTheWholeWayWithoutAScript(t *testing.T) {
	for button, want := range map[string]string{"Approve": "resume", "Deny": "cancel"} {
		t.Run(button, func(t *testing.T) {
			s := serve(t, withConsole)
			ctx := browser(t)
			if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
				t.Fatal(err)
			}
			run := s.waits(payment)
			s.openConsole(ctx, "/")
			do(t, ctx, chromedp.Click(chromedp.CSS("li.item a.what")))
			s.reads(ctx, "pay")
			s.pressed(ctx, button)
			s.reads(ctx, map[string]string{"resume": "Answered: Yes", "cancel": "Answered: No"}[want])
			if d := s.stored(run); d == nil || d.Action != want {
				t.Errorf("stored is %+v", d)
			}
		})
	}
}

// Of two tabs with the same question the first answer counts, and the second says so: it shows what
// is stored, and not what was pressed.
func TestTwoTabsAnswer(t *testing.T) {
	s := serve(t, withConsole)
	first := browser(t)
	second, leave := chromedp.NewContext(first)
	t.Cleanup(leave)
	run := s.waits(payment)
	for _, ctx := range []context.Context{first, second} {
		if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
			t.Fatal(err)
		}
		s.openConsole(ctx, questionPath(run))
	}
	s.pressed(first, "Deny")
	s.reads(first, "Answered: No")
	s.pressed(second, "Approve")
	s.reads(second, "Answered: No")
	if d := s.stored(run); d == nil || d.Action != "cancel" {
		t.Errorf("stored is %+v", d)
	}
}

// An answer whose receipt is lost was stored once; sent again it changes nothing, and the page says
// what is stored.
func TestAnAnswerWhoseReceiptIsLost(t *testing.T) {
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(payment)
	s.openConsole(ctx, questionPath(run))
	s.mute.Store(true)
	s.pressed(ctx, "Approve")
	s.mute.Store(false)
	first := s.stored(run)
	if first == nil || first.Action != "resume" {
		t.Fatalf("stored is %+v", first)
	}
	is(t, ctx, "the page that says that there was no answer", `document.querySelector("main.question") === null`)
	s.openConsole(ctx, questionPath(run))
	s.reads(ctx, "Answered: Yes")
	if again := s.stored(run); again == nil || again.At != first.At || again.Action != first.Action {
		t.Errorf("stored is %+v, and was %+v", again, first)
	}
}

// Programs that look at links in mail open them, and more than once. Nothing is stored by that, and
// the link stays good.
func TestALinkThatAScannerOpens(t *testing.T) {
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(payment)
	link := s.link(run)
	for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet, http.MethodOptions, http.MethodHead} {
		req, err := http.NewRequestWithContext(t.Context(), method, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if now := s.now(run); len(now.Pending) != 1 {
			t.Fatalf("%s answered", method)
		}
	}
	if err := s.open(ctx, link); err != nil {
		t.Fatal(err)
	}
	s.postedBy(ctx, chromedp.Click(chromedp.CSS("button.no")))
	is(t, ctx, "the outcome", `document.querySelector("button.no") === null`)
	if d := s.stored(run); d == nil || d.Action != "cancel" {
		t.Errorf("stored is %+v", d)
	}
}

// What is asked while an inbox is open shows there within a second, and what comes in a burst comes
// at the pace of a page.
func TestNewsArriveWithinASecond(t *testing.T) {
	s := serveAt(t, &still{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, withConsole)
	ctx := browser(t)
	s.waits(payment)
	s.openConsole(ctx, "/")
	is(t, ctx, "the stream", `document.readyState === "complete"`)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`void (window.seen = [], new MutationObserver(() => seen.push(performance.now())).observe(document.getElementById("news"), {childList: true}))`))
	for n := 1; n <= 3; n++ {
		began := time.Now()
		s.waits(payment)
		is(t, ctx, "the news", fmt.Sprintf(`document.getElementById("news").textContent.includes("%d new")`, n))
		if took := time.Since(began); took > time.Second {
			t.Errorf("news took %v", took)
		} else {
			t.Logf("news took %v", took)
		}
	}
	for range 30 {
		s.waits(payment)
	}
	is(t, ctx, "all the news", `document.getElementById("news").textContent.includes("33 new")`)
	const bursts = `(() => { const at = seen.slice(3), first = at.filter((t, i) => i === 0 || t - at[i - 1] > 60); return first.length <= (at.at(-1) - at[0]) / 250 + 2 ? "" : JSON.stringify(first); })()`
	if wrong, err := chromedp.Run(ctx, chromedp.Evaluate[string](bursts)); err != nil || wrong != "" {
		t.Errorf("news came at %s, %v", wrong, err)
	}
}
