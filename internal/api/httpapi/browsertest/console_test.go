package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// withConsole serves the pages that people work in, to everyone.
func withConsole(o *httpapi.Options) {
	keys := o.Links
	desk := &session.Desk{Anyone: true, Clock: o.Clock, Random: &frontendtest.Random{}, Public: o.PublicURL, Guesses: bounds.NewGuesses(),
		Signing: func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }}
	o.Protocols = []httpapi.Protocol{console.New(console.Options{Reads: query.New(o.Frontend), Acts: o.Frontend, Bulks: bulk.New(o.Frontend), Numbers: ops.New(o.Frontend, o.Webhooks), Deliveries: o.Webhooks, Sessions: desk, Clock: o.Clock, Public: o.PublicURL, Names: httpapi.Names{Product: "Till"}, Hold: o.Limits.Hold})}
}

var payment = frontendtest.Call{Tool: "pay", Message: "Payments need approval.", Arguments: json.RawMessage(`{"amount":120,"to":"Ann"}`)}

// is waits until an expression is true in the page.
func is(t *testing.T, ctx context.Context, what, expression string) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, waits)
	defer stop()
	err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression))
	for err != nil && ctx.Err() == nil { // the page was left meanwhile
		err = chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression))
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (s *server) openConsole(ctx context.Context, path string) {
	s.t.Helper()
	if err := s.open(ctx, s.url+path); err != nil {
		s.t.Fatal(err)
	}
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// An open inbox says what is new, and moves no row for it. What is answered elsewhere can't be
// opened by accident any more.
func TestAnOpenInboxSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	first := s.waits(payment)
	s.openConsole(ctx, "/")
	is(t, ctx, "one row", `document.querySelectorAll("li.item").length === 1`)
	second := s.waits(payment)
	is(t, ctx, "the news", `document.getElementById("news").textContent === "Show 1 new question" && document.title.startsWith("(1) ")`)
	is(t, ctx, "no row moved", `document.querySelectorAll("li.item").length === 1`)
	s.denies(first)
	is(t, ctx, "the answered row", `document.querySelector("li.item.gone .gone-note") !== null && document.querySelector("li.item.gone a[href]") === null`)
	do(t, ctx, chromedp.Click(chromedp.CSS("#news")))
	is(t, ctx, "the new row", `document.querySelectorAll("li.item").length === 1 && document.querySelector("li.item").dataset.of === "`+second.ID+`"`)
}

// standing are the places of the rows of a list.
const standing = `JSON.stringify([...document.querySelectorAll("li.item")].map((row) => [row.dataset.of, row.getBoundingClientRect().top]))`

// Two questions come while an inbox is open, and one is answered elsewhere: no row moves until the
// person asks for the news. The row that is answered says by whom, is grey, and opens nothing.
func TestNoRowMovesUntilThePersonAsks(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	first, second := s.waits(payment), s.waits(payment)
	s.openConsole(ctx, "/")
	is(t, ctx, "two rows", `document.querySelectorAll("li.item").length === 2`)
	before, err := chromedp.Run(ctx, chromedp.Evaluate[string](standing))
	if err != nil {
		t.Fatal(err)
	}
	third, fourth := s.waits(payment), s.waits(payment)
	is(t, ctx, "the news", `document.getElementById("news").textContent === "Show 2 new questions" && document.title.startsWith("(2) ")`)
	after, err := chromedp.Run(ctx, chromedp.Evaluate[string](standing))
	if err != nil || after != before {
		t.Errorf("the rows were at %s, and are at %s, %v", before, after, err)
	}
	do(t, ctx, chromedp.EmulateViewport(320, 844))
	is(t, ctx, "the heading beside the news", `((text) => (text.selectNodeContents(document.querySelector("h1")), text.getBoundingClientRect().right < document.getElementById("news").getBoundingClientRect().left))(document.createRange())`)
	anna, leave := tab(t, ctx)
	t.Cleanup(leave)
	if err := s.open(anna, s.link(first)); err != nil {
		t.Fatal(err)
	}
	s.pressed(anna, "Deny")
	s.worker.Drain(first.ID)
	row := fmt.Sprintf(`document.querySelector("li.item.gone[data-of='%s']")`, first.ID)
	is(t, ctx, "the answered row", row+`?.querySelector(".gone-note").textContent === "Answered by anna"`)
	is(t, ctx, "its colour, and no link", fmt.Sprintf(`((gone, open) => gone.querySelector("a[href]") === null && open.querySelector("a[href]") !== null &&
		getComputedStyle(gone.querySelector(".what")).color === getComputedStyle(open.querySelector(".left, .hint")).color &&
		getComputedStyle(gone.querySelector(".what")).color !== getComputedStyle(open.querySelector(".what")).color)(%s, document.querySelector("li.item:not(.gone)"))`, row))
	is(t, ctx, "no other news", `document.getElementById("news").textContent === "Show 2 new questions" && document.querySelectorAll("li.item").length === 2`)
	do(t, ctx, chromedp.Click(chromedp.CSS("li.item.gone .what")), chromedp.Click(chromedp.CSS("#news")))
	is(t, ctx, "what waits now", fmt.Sprintf(`document.body.dataset.page === "inbox" && [...document.querySelectorAll("li.item")].map((row) => row.dataset.of).sort().join() === %q.split(",").sort().join() && document.getElementById("news").hidden`,
		strings.Join([]string{second.ID, third.ID, fourth.ID}, ",")))
}

// denies answers as a program does, and lets the worker take it.
func (s *server) denies(run wire.Run) {
	s.t.Helper()
	if _, err := s.client.Decide(s.t.Context(), run.ID, client.Decision{Target: run.Pending[0].Suspension.ID, Action: "cancel"}); err != nil {
		s.t.Fatal(err)
	}
	s.worker.Drain(run.ID)
}

// A page of a question that was answered elsewhere can't answer it again, and says so.
func TestAQuestionAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(payment)
	s.openConsole(ctx, "/questions/"+run.Pending[0].Suspension.ID)
	is(t, ctx, "the buttons", `!document.getElementById("yes").disabled`)
	s.denies(run)
	is(t, ctx, "the notice", `document.getElementById("yes").disabled && document.getElementById("no").disabled && !document.getElementById("news").hidden`)
	do(t, ctx, chromedp.Click(chromedp.CSS("#news")))
	is(t, ctx, "what happened", `document.querySelector("main.question") === null && document.body.textContent.includes("No")`)
}

// No key answers by itself, and Enter on nothing but the two buttons does.
func TestNoKeyAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(payment)
	path := "/questions/" + run.Pending[0].Suspension.ID
	for _, key := range strings.Split("j k o a d e x z / ? 1 y n", " ") {
		s.openConsole(ctx, path)
		do(t, ctx, chromedp.KeyEvent(key))
		if now := s.now(run); len(now.Pending) != 1 {
			t.Fatalf("%q answered", key)
		}
	}
	s.openConsole(ctx, path)
	controls, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.querySelectorAll("main input:not([type=hidden]), main select, main summary").length`))
	if err != nil || controls == 0 {
		t.Fatalf("%d controls, %v", controls, err)
	}
	for i := range controls {
		s.openConsole(ctx, path)
		do(t, ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void [...document.querySelectorAll("main input:not([type=hidden]), main select, main summary")][%d].focus()`, i)), chromedp.KeyEvent(kb.Enter))
		if now := s.now(run); len(now.Pending) != 1 {
			t.Fatalf("Enter on control %d answered", i)
		}
	}
	s.openConsole(ctx, path)
	do(t, ctx, chromedp.KeyEvent("a"))
	is(t, ctx, "the focus", `document.activeElement.id === "yes"`)
	s.postedBy(ctx, chromedp.KeyEvent(kb.Enter))
	if now := s.now(run); len(now.Pending) != 0 {
		t.Error("a and then Enter didn't approve")
	}
}

// While the server is gone, a page says that nothing on it is live, and sends no answer.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, withConsole)
	ctx := browser(t)
	run := s.waits(payment)
	s.openConsole(ctx, "/questions/"+run.Pending[0].Suspension.ID)
	is(t, ctx, "the buttons", `!document.getElementById("yes").disabled`)
	s.away.Store(true)
	s.drop()
	is(t, ctx, "the bar", `!document.getElementById("offline").hidden && document.getElementById("yes").disabled`)
	s.away.Store(false)
	is(t, ctx, "the connection again", `document.getElementById("offline").hidden && !document.getElementById("yes").disabled`)
}

// axe looks for what people with disabilities can't use.
const axe = `(async () => {
	const found = await axe.run(document, { resultTypes: ["violations"] });
	return found.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).join(" ")).join("\n");
})()`
