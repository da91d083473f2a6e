package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
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
	t.Parallel()
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
	t.Parallel()
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

// answers is how many decisions of a run are stored and wait for the worker.
func (s *server) answers(run wire.Run) int {
	s.t.Helper()
	head, err := s.worker.Store.Load(s.t.Context(), s.worker.Tenant, run.ThreadID)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(head.Inbox)
}

// isUnsure is a page that doesn't know whether its answer arrived. It keeps the question, and
// nothing but the same answer can be sent.
const isUnsure = `!document.getElementById("unsure").hidden && !document.getElementById("resend").disabled && document.getElementById("unsure").textContent.includes("We do not know whether your answer arrived") &&
	document.activeElement.id === "unsure" && document.querySelector("main.question h1") !== null && document.querySelectorAll("main.question form button:not([hidden]):not(:disabled)").length === 0`

// An answer whose receipt is lost: the page says that it isn't known whether it arrived. Sent
// again, it counts once, whether it had arrived or not; and who looks sees what is stored.
func TestAnAnswerWhoseReceiptIsLost(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		loses  func(s *server) *atomic.Bool
		stored int
	}{
		"after it was stored":  {func(s *server) *atomic.Bool { return &s.mute }, 1},
		"before it arrived":    {func(s *server) *atomic.Bool { return &s.deaf }, 0},
		"a gateway gave it up": {func(s *server) *atomic.Bool { return &s.ill }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, looks := range []bool{false, true} {
				s := serve(t, withConsole)
				ctx := browser(t)
				run := s.waits(payment)
				lost := way.loses(s)
				s.openConsole(ctx, questionPath(run))
				do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("reason").value = "one line\nanother"`))
				lost.Store(true)
				s.pressed(ctx, "Approve")
				is(t, ctx, "the page that doesn't know", isUnsure)
				s.postedBy(ctx, chromedp.Click(chromedp.CSS("#resend")))
				is(t, ctx, "the page that still doesn't know", isUnsure)
				lost.Store(false)
				if got := s.answers(run); got != way.stored {
					t.Fatalf("%d answers are stored", got)
				}
				if looks {
					do(t, ctx, chromedp.Click(chromedp.CSS("#unsure a")))
				} else {
					s.postedBy(ctx, chromedp.Click(chromedp.CSS("#resend")))
				}
				if looks && way.stored == 0 {
					is(t, ctx, "the question", `document.getElementById("unsure").hidden && !document.getElementById("yes").disabled`)
					continue
				}
				s.reads(ctx, "Answered: Yes")
				if d := s.stored(run); s.answers(run) != 1 || d == nil || d.Action != "resume" || strings.ReplaceAll(d.Reason, "\r", "") != "one line\nanother" {
					t.Errorf("stored are %d answers, and %+v", s.answers(run), d)
				}
				is(t, ctx, "no other answer", `!document.body.textContent.includes("not used")`)
			}
		})
	}
}

// lost is a page that doesn't know whether what was sent arrived. It is still the page of it, and
// nothing else can be sent.
const lost = `!document.getElementById("unsure").hidden && !document.getElementById("resend").disabled && document.getElementById("unsure").textContent.includes("We do not know whether your %s arrived") &&
	document.activeElement.id === "unsure" && document.body.dataset.page === %q && document.querySelectorAll("form[data-answer] button:not(:disabled)").length === 0`

// Several answers whose receipt is lost, and an undo of one and of several: as with one answer, the
// page says that it isn't known whether they arrived, and what is sent again counts once.
func TestSeveralAnswersAndUndosWhoseReceiptIsLost(t *testing.T) {
	t.Parallel()
	for name, loses := range map[string]func(*server) *atomic.Bool{
		"after it was stored":  func(s *server) *atomic.Bool { return &s.mute },
		"before it arrived":    func(s *server) *atomic.Bool { return &s.deaf },
		"a gateway gave it up": func(s *server) *atomic.Bool { return &s.ill },
	} {
		t.Run(name, func(t *testing.T) {
			s := serveAt(t, &still{now: frontendtest.NewClock().Now()}, withUndo)
			ctx := browser(t)
			freezes(t, ctx)
			run, pair := s.waits(payment), []wire.Run{s.waits(payment), s.waits(payment)}
			open := func(runs ...wire.Run) (n int) {
				for _, run := range runs {
					n += len(s.now(run).Pending)
				}
				return n
			}
			away := loses(s)
			cut := func(what, page, button, then string) {
				t.Helper()
				away.Store(true)
				s.pressed(ctx, button)
				is(t, ctx, "the page that doesn't know", fmt.Sprintf(lost, what, page))
				s.postedBy(ctx, chromedp.Click(chromedp.CSS("#resend")))
				is(t, ctx, "the page that still doesn't know", fmt.Sprintf(lost, what, page))
				away.Store(false)
				s.postedBy(ctx, chromedp.Click(chromedp.CSS("#resend")))
				is(t, ctx, "what is stored", then)
			}
			s.openConsole(ctx, questionPath(run))
			s.pressed(ctx, "Approve")
			is(t, ctx, "the held answer", isHeld)
			cut("undo", "outcome", "Undo", `document.querySelector("main.question p.again")?.textContent.includes("Nothing was done.")`)
			if open(run) != 1 || s.withdrawn(run) != 1 {
				t.Errorf("%d wait, and %d answers were taken back", open(run), s.withdrawn(run))
			}
			s.openConsole(ctx, bulkPath(pair...))
			cut("answer", "bulk", "Approve all 2", isHeld+` && document.querySelector("#yes") === null`)
			if open(pair...) != 0 || s.answers(pair[0]) != 1 || s.answers(pair[1]) != 1 {
				t.Errorf("%d wait; stored are %d and %d answers", open(pair...), s.answers(pair[0]), s.answers(pair[1]))
			}
			cut("undo", "bulk", "Undo all of it", `document.getElementById("held") === null && document.querySelector("#yes") !== null`)
			if open(pair...) != 2 || s.withdrawn(pair[0]) != 1 || s.withdrawn(pair[1]) != 1 {
				t.Errorf("%d wait, and %d and %d answers were taken back", open(pair...), s.withdrawn(pair[0]), s.withdrawn(pair[1]))
			}
			do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("reason").value = "no"`))
			away.Store(true)
			s.pressed(ctx, "Deny all 2")
			is(t, ctx, "the page that doesn't know", fmt.Sprintf(lost, "answer", "bulk"))
			away.Store(false)
			do(t, ctx, chromedp.Click(chromedp.CSS("#unsure a")))
			is(t, ctx, "the questions or what became of them", fmt.Sprintf(`document.getElementById("unsure").hidden && document.querySelectorAll("main li.item").length === 2 && (document.querySelector("#yes") !== null) === %v`, open(pair...) == 2))
		})
	}
}

// withdrawn is how many answers to the question of a run were taken back.
func (s *server) withdrawn(run wire.Run) int {
	s.t.Helper()
	return len(s.now(run).Pending[0].Suspension.Withdrawn)
}

// What the server refuses is said by a page of its own, also where the script sends the answer.
func TestARefusedAnswerShowsWhy(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(frontendtest.Call{Tool: "pick", Kind: core.KindInput, Message: "Which size?", Schema: json.RawMessage(`{"type":"integer","minimum":1}`)})
	s.openConsole(ctx, questionPath(run))
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#f0"), "0"))
	s.pressed(ctx, "Send this answer")
	is(t, ctx, "why", `document.getElementById("f0-bad") !== null && document.getElementById("f0").value === "0"`)
	if got := s.answers(run); got != 0 {
		t.Fatalf("%d answers are stored", got)
	}
	<-s.posted // the browser's own form, which drew the page
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("f0").value = "7"`))
	s.pressed(ctx, "Send this answer")
	is(t, ctx, "the outcome", `document.querySelector("main.question") === null && document.querySelector("main h1") !== null`)
	says, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("main").textContent`))
	if err != nil || !strings.Contains(says, "Answered: ") || strings.Contains(says, "not used") {
		t.Errorf("it says %q, %v", says, err)
	}
	if got := s.answers(run); got != 1 {
		t.Errorf("%d answers are stored", got)
	}
}

// A link's page has no script: the browser says that there is no answer. Who opens the link again
// sees what is stored, or the question.
func TestAnAnswerByALinkWhoseReceiptIsLost(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]int{"after it was stored": 1, "before it arrived": 0} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			ctx := browser(t)
			run := s.waits(payment)
			lost := &s.deaf
			if stored == 1 {
				lost = &s.mute
			}
			link := s.link(run)
			if err := s.open(ctx, link); err != nil {
				t.Fatal(err)
			}
			lost.Store(true)
			s.pressed(ctx, "Approve")
			is(t, ctx, "the browser's page", `document.querySelector("main.question") === null`)
			lost.Store(false)
			if got := s.answers(run); got != stored {
				t.Fatalf("%d answers are stored", got)
			}
			if err := s.open(ctx, link); err != nil {
				t.Fatal(err)
			}
			is(t, ctx, "the question or its outcome", `document.querySelector("main h1") !== null`)
			if again, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector("#yes") !== null`)); err != nil {
				t.Fatal(err)
			} else if again {
				do(t, ctx, chromedp.Click(chromedp.CSS("#yes")))
				is(t, ctx, "the outcome", `document.querySelector("main.question") === null && document.querySelector("main h1") !== null`)
			}
			if d := s.stored(run); s.answers(run) != 1 || d == nil || d.Action != "resume" {
				t.Errorf("stored are %d answers, and %+v", s.answers(run), d)
			}
		})
	}
}

// Programs that look at links in mail open them, and more than once. Nothing is stored by that, and
// the link stays good.
func TestALinkThatAScannerOpens(t *testing.T) {
	t.Parallel()
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
func TestNewsArriveWithinASecond(t *testing.T) { // not in parallel: others would take its time
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
