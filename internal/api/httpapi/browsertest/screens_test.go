package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// still is a clock that moves only when it is moved; what waits for it, waits in real time.
type still struct {
	mu  sync.Mutex
	now time.Time
}

func (c *still) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (*still) AfterFunc(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

func (c *still) moves(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// gallery is a server with fixed ids and a clock that stands still, and a tab.
type gallery struct {
	*server
	ctx   context.Context
	still *still
}

// screen is a page in a state. open leads there; its name is that of its pictures.
type screen struct {
	name string
	open func(g gallery)
}

var refundTitle = []wire.TitlePart{{Text: "Refund "}, {Argument: "amount"}, {Text: " "}, {Argument: "currency"}, {Text: " for order "}, {Argument: "order"}, {Text: "?"}}

// refunds lets a run of the refund desk wait, with all that a question can have.
func (g gallery) refunds(amount int, order string, left time.Duration) wire.Run {
	g.t.Helper()
	g.details = wire.ToolDetails{Title: refundTitle, Description: "Pays money back to the customer's card.", Kind: "http", Target: "POST shop.example.com/refunds", Parameters: json.RawMessage(refundSchema)}
	input := fmt.Sprintf("My lamp of order %s arrived broken, I would like my %d euros back.", order, amount)
	call := frontendtest.Call{Tool: "issue_refund", Message: "Refunds above 100 need approval.", Said: "Two photos show the broken shade, and the order was paid 9 days ago.",
		Arguments: json.RawMessage(fmt.Sprintf(`{"amount":%d,"currency":"EUR","note":"Sorry about that! No return needed.","order":%q,"tell":true}`, amount, order)),
		Preview:   &core.Preview{Text: fmt.Sprintf("Balance of %s: %d EUR paid, 0 EUR refunded", order, amount), Tool: "read_balance"}}
	if left > 0 {
		call.Deadline = g.clock.Now().Add(left).UnixMilli()
	}
	return g.waitsFor(wire.StartRequest{Agent: "refund-desk", Input: core.Encode(input), Metadata: json.RawMessage(`{"ticket":"T-1840"}`)}, call)
}

// odd lets a run wait with arguments that mislead.
func (g gallery) odd() wire.Run {
	g.t.Helper()
	return g.waitsFor(wire.StartRequest{Agent: "payments", Input: core.Encode("Pay the invoice \u202e and more " + strings.Repeat("long", 30))},
		frontendtest.Call{Tool: "pay", Message: "Payments need approval.", Arguments: json.RawMessage(`{"to":"P\u0430ypal Inc","iban":"DE89370400440532O13000","note":"\u05d0\u05d1\u05d2 100 \u05d3\u05d4\u05d5 9000 EUR","amount":12e3,"` + strings.Repeat("n", 60) + `":"` + strings.Repeat("v", 400) + `"}`)})
}

// worked is a run that ended well: model, tools, a question and its answer.
func (g gallery) worked() wire.Run {
	g.t.Helper()
	run, err := g.client.StartRun(g.t.Context(), wire.StartRequest{Agent: "refund-desk", Input: core.Encode("My lamp of order A-17 arrived broken, I would like my 120 euros back.")}, "")
	if err != nil {
		g.t.Fatal(err)
	}
	g.still.moves(4 * time.Second)
	g.worker.Works(run.ID, frontendtest.Answer{Text: "I look at the order first.", Took: 2400 * time.Millisecond, Calls: []frontendtest.Ran{
		{ID: "l1", Tool: "find_order", Arguments: json.RawMessage(`{"order":"A-17"}`), Result: json.RawMessage(`{"paid":120}`), Took: 320 * time.Millisecond}}})
	g.still.moves(3 * time.Second)
	sus := g.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "issue_refund", Kind: core.KindApproval, Message: "Refunds above 100 need approval.", Said: "It was paid 9 days ago.", Arguments: json.RawMessage(`{"amount":120,"currency":"EUR","order":"A-17"}`)})["c1"]
	g.still.moves(26 * time.Minute)
	if _, err := g.client.Decide(g.t.Context(), run.ID, client.Decision{Target: sus, Action: "resume"}); err != nil {
		g.t.Fatal(err)
	}
	g.worker.Drain(run.ID)
	g.worker.Finish(run.ID, "The refund of 120 euros is on its way.")
	g.still.moves(time.Minute)
	return run
}

// bulkPath is the page of the questions of several runs.
func bulkPath(runs ...wire.Run) string {
	q := url.Values{}
	for _, run := range runs {
		q.Add("question", run.Pending[0].Suspension.ID)
	}
	return "/bulk?" + q.Encode()
}

func questionPath(run wire.Run) string { return "/questions/" + run.Pending[0].Suspension.ID }

func (g gallery) to(path string) { g.t.Helper(); g.openConsole(g.ctx, path) }

func (g gallery) is(what, expression string) { g.t.Helper(); is(g.t, g.ctx, what, expression) }

// press presses the button of a form that sends it, and waits for the page that follows.
func (g gallery) press(value, then string) {
	g.t.Helper()
	g.postedBy(g.ctx, chromedp.Click(chromedp.CSS(`main button[value="`+value+`"]:not([hidden])`)))
	g.is("what follows "+value, then)
}

const (
	isOutcome  = `document.querySelector("form [name=action]") === null && document.querySelector("h1") !== null && document.readyState === "complete"`
	isHeld     = `document.getElementById("held") !== null && document.readyState === "complete"`
	isConsoles = `document.body.dataset.page !== undefined && document.readyState === "complete"`
)

// held are the screens of a server that holds answers. On the others, answers are final.
var held = []string{"outcome-held", "outcome-undone", "link-held"}

var screens = []screen{
	{"inbox-empty", func(g gallery) { g.to("/") }},
	{"inbox", func(g gallery) {
		g.refunds(430, "B-9", 2*time.Hour)
		g.still.moves(6 * time.Minute)
		g.refunds(120, "A-17", 40*time.Hour)
		g.still.moves(3 * time.Minute)
		g.to("/")
	}},
	{"inbox-odd", func(g gallery) { g.odd(); g.to("/") }},
	{"inbox-none", func(g gallery) { g.refunds(430, "B-9", 0); g.to("/?tool=none") }},
	{"inbox-news", func(g gallery) {
		g.refunds(430, "B-9", 0)
		g.to("/")
		g.refunds(120, "A-17", 0)
		g.is("the news", `!document.getElementById("news").hidden`)
	}},
	{"inbox-gone", func(g gallery) {
		g.refunds(430, "B-9", 0)
		run := g.refunds(120, "A-17", 0)
		g.to("/")
		g.denies(run)
		g.is("the answered row", `document.querySelector("li.item.gone .gone-note") !== null`)
	}},
	{"inbox-offline", func(g gallery) {
		g.refunds(430, "B-9", 0)
		g.to("/")
		g.away.Store(true)
		g.drop()
		g.is("the bar", `!document.getElementById("offline").hidden`)
	}},
	{"bulk", func(g gallery) {
		g.to(bulkPath(g.refunds(430, "B-9", 2*time.Hour), g.refunds(120, "A-17", 40*time.Hour)))
	}},
	{"bulk-apart", func(g gallery) { g.to(bulkPath(g.refunds(430, "B-9", 0), g.odd())) }},
	{"bulk-stored", func(g gallery) {
		g.to(bulkPath(g.refunds(430, "B-9", 2*time.Hour), g.refunds(120, "A-17", 40*time.Hour)))
		g.press("cancel", isConsoles+` && document.querySelector("#yes") === null`)
	}},
	{"answered", func(g gallery) { g.to("/answered") }},
	{"help", func(g gallery) {
		g.to("/")
		do(g.t, g.ctx, chromedp.KeyEvent("?"))
		g.is("the keys", `document.getElementById("help").open`)
	}},
	{"question", func(g gallery) {
		run := g.refunds(430, "B-9", 40*time.Hour)
		g.still.moves(9 * time.Minute)
		g.to(questionPath(run))
	}},
	{"question-urgent", func(g gallery) { g.to(questionPath(g.refunds(430, "B-9", time.Hour))) }},
	{"question-odd", func(g gallery) { g.to(questionPath(g.odd())) }},
	{"question-late", func(g gallery) {
		run := g.refunds(430, "B-9", 0)
		g.to(questionPath(run))
		g.denies(run)
		g.is("the notice", `document.getElementById("yes").disabled && !document.getElementById("news").hidden`)
	}},
	{"question-offline", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.away.Store(true)
		g.drop()
		g.is("the bar", `!document.getElementById("offline").hidden && document.getElementById("yes").disabled`)
	}},
	{"question-unsure", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 40*time.Hour)))
		g.mute.Store(true)
		g.postedBy(g.ctx, chromedp.Click(chromedp.CSS(`#yes`)))
		g.is("the page that doesn't know", isUnsure)
		g.mute.Store(false)
	}},
	{"edit", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.press("change", `document.getElementById("f0") !== null`)
	}},
	{"edit-mistake", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.press("change", `document.getElementById("f0") !== null`)
		do(g.t, g.ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("f0").value = "abc"`))
		g.press("compare", `document.getElementById("f0-bad") !== null`)
		do(g.t, g.ctx, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	}},
	{"edit-difference", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.press("change", `document.getElementById("f0") !== null`)
		do(g.t, g.ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("f0").value = "400.50"`))
		g.press("compare", `document.querySelectorAll(".changed").length === 1`)
	}},
	{"outcome-stored", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.press("resume", isOutcome)
	}},
	{"outcome-held", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 0)))
		g.press("resume", isHeld)
	}},
	{"outcome-undone", func(g gallery) {
		g.to(questionPath(g.refunds(430, "B-9", 40*time.Hour)))
		g.press("resume", isHeld)
		g.press("withdraw", `document.querySelector("p.again") !== null`)
	}},
	{"outcome-denied", func(g gallery) {
		run := g.refunds(430, "B-9", 0)
		g.denies(run)
		g.worker.Finish(run.ID, "I have told the customer that it was not refunded.")
		g.to(questionPath(run))
	}},
	{"outcome-expired", func(g gallery) {
		run := g.refunds(430, "B-9", time.Hour)
		g.still.moves(2 * time.Hour)
		g.worker.TimeOut(run.ID, "c1")
		g.to(questionPath(run))
	}},
	{"link", func(g gallery) { g.to(strings.TrimPrefix(g.link(g.refunds(430, "B-9", 40*time.Hour)), g.url)) }},
	{"link-answered", func(g gallery) {
		run := g.refunds(430, "B-9", 40*time.Hour)
		link := g.link(run)
		g.denies(run)
		g.to(strings.TrimPrefix(link, g.url))
	}},
	{"link-held", func(g gallery) {
		g.to(strings.TrimPrefix(g.link(g.refunds(430, "B-9", 40*time.Hour)), g.url))
		g.press("cancel", isHeld)
	}},
	{"link-over", func(g gallery) {
		link := g.link(g.refunds(430, "B-9", 0))
		g.still.moves(1000 * time.Hour)
		g.to(strings.TrimPrefix(link, g.url))
	}},
	{"runs", func(g gallery) {
		g.worked()
		g.refunds(430, "B-9", 0)
		g.to("/runs")
	}},
	{"runs-none", func(g gallery) { g.to("/runs?status=done") }},
	{"run", func(g gallery) { g.to("/runs/" + g.worked().ID) }},
	{"run-waiting", func(g gallery) {
		run := g.refunds(430, "B-9", 40*time.Hour)
		g.still.moves(9 * time.Minute)
		g.to("/runs/" + run.ID)
	}},
	{"run-odd", func(g gallery) { g.to("/runs/" + g.odd().ID) }},
	{"chats", func(g gallery) { g.worked(); g.to("/chat") }},
	{"chat", func(g gallery) { g.to("/chat/" + g.worked().ThreadID) }},
	{"chat-waiting", func(g gallery) { g.to("/chat/" + g.refunds(430, "B-9", 0).ThreadID) }},
	{"chat-odd", func(g gallery) { g.to("/chat/" + g.odd().ThreadID) }},
	{"agents", func(g gallery) { g.to("/agents") }},
	{"operate", func(g gallery) {
		g.refunds(430, "B-9", time.Hour)
		g.still.moves(9 * time.Minute)
		g.worked()
		g.to("/operate")
	}},
	{"dead", func(g gallery) { g.to("/operate/dead") }},
	{"signin", func(g gallery) { g.to("/signin") }},
	{"error", func(g gallery) { g.to("/runs/run_none") }},
}

// Every screen in every state, as people see it: wide and narrow, light and dark, it is as its
// picture; axe finds no barrier, and none is wider than a small phone, or than half of a screen, as
// when it is enlarged to 200 %.
func TestEveryScreen(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("run .ci/browser, which installs axe-core: %v", err)
	}
	ctx := browser(t)
	_, err = chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	}
	if err != nil {
		t.Fatal(err)
	}
	freezes(t, ctx)
	var names []string
	for _, of := range screens {
		for _, v := range views {
			if v.kept() {
				names = append(names, of.name+"-"+v.String())
			}
		}
		t.Run(of.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			clock := &still{now: frontendtest.NewClock().Now()}
			serves := withConsole
			if slices.Contains(held, of.name) {
				serves = withUndo
			}
			g := gallery{serveAt(t, clock, serves), ctx, clock}
			views[0].look(t, ctx)
			of.open(g)
			fitsNarrow(t, ctx)
			do(t, ctx, chromedp.Evaluate[chromedp.Void](string(source)+";void 0"))
			at := map[int64]string{}
			for _, v := range views {
				v.look(t, ctx)
				is, err := chromedp.Run(ctx, chromedp.Evaluate[string](places))
				if err != nil || at[v.width] != "" && is != at[v.width] {
					t.Errorf("%s: things are elsewhere than in the other colours, %v", v, err)
				}
				at[v.width] = is
				found, err := chromedp.Run(ctx, chromedp.Evaluate[string](axe, chromedp.EvalAwaitPromise))
				if err != nil || found != "" {
					t.Errorf("%s: %v\n%s", v, err, found)
				}
				if v.kept() {
					compare(t, ctx, of.name+"-"+v.String())
				}
			}
			g.away.Store(true)
			g.drop() // the stream of the page would hold the server back
		})
	}
	keepsOnly(t, names)
}

// fitsNarrow demands that the page is not wider than 320 px, nor than 1,280 px at 200 %.
func fitsNarrow(t *testing.T, ctx context.Context) {
	t.Helper()
	for width, scale := range map[int64]float64{320: 1, 640: 2} {
		do(t, ctx, chromedp.EmulateViewport(width, 600, chromedp.EmulateScale(scale)))
		if wide, err := chromedp.Run(ctx, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); err != nil || wide > width {
			t.Errorf("at %d px it is %d px wide, %v", width, wide, err)
		}
	}
}
