package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// answering are the values of the buttons that answer, or take an answer back. Enter on them is how
// a person presses them; on everything else, Enter stores nothing.
var answering = []string{"resume", "cancel", "edit", "withdraw"}

// everyField is a question with a field of each kind.
var everyField = frontendtest.Call{Tool: "pick", Kind: core.KindInput, Message: "Which one?", Schema: json.RawMessage(`{"type":"object","required":["count"],"properties":{
	"any":{},"count":{"type":"integer"},"mail":{"type":"string","format":"email"},"one":{"enum":["a","b"]},"open":{"type":"boolean"},
	"some":{"type":"array","items":{"enum":["a","b"]}},"text":{"type":"string"},"words":{"type":"array","items":{"type":"string"}}}}`)}

// controls finds what can have the focus and is no answer, and notes what Enter does there. A form
// that is sent and a link that is followed end the page; nothing else does.
const controls = `window.controls = (() => {
	delete sessionStorage.did;
	for (const folded of document.querySelectorAll("details")) folded.open = true;
	addEventListener("submit", (e) => (sessionStorage.did = e.target.method));
	addEventListener("click", (e) => { const a = e.target.closest("a[href]"); if (a && !a.getAttribute("href").startsWith("#")) sessionStorage.did = "follow"; });
	return [...document.querySelectorAll("%s :is(a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex])")]
		.filter((el) => !(el.localName === "button" && %s.includes(el.value)) && (el.focus(), document.activeElement === el));
})(), controls.map((el) => el.localName + " " + (el.id || el.getAttribute("href") || el.value || el.textContent))`

// isOver is true once Enter did nothing, or what it did has led to another page.
const isOver = `sessionStorage.did === undefined || (window.controls === undefined && document.readyState === "complete")`

// tried is a page whose controls are tried.
type tried struct {
	runs []wire.Run
	open func(ctx context.Context) // leads a new tab there
	has  string                    // some of its controls
	part string                    // of it that is tried; every page has the same around it
}

// linked is the address of a link of another kind than that of [server.link].
func (s *server) linked(run wire.Run, as wire.LinkRequest) string {
	s.t.Helper()
	as.Target = run.Pending[0].Suspension.ID
	made, err := s.client.MakeLink(s.t.Context(), run.ID, as)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Link
}

func (s *server) at(address string) func(context.Context) {
	return func(ctx context.Context) { s.t.Helper(); s.openConsole(ctx, strings.TrimPrefix(address, s.url)) }
}

// filled opens a page and types into a field of it.
func (s *server) filled(open func(context.Context), id, text string) func(context.Context) {
	return func(ctx context.Context) {
		s.t.Helper()
		open(ctx)
		is(s.t, ctx, "the field", fmt.Sprintf(`document.getElementById(%[1]q) !== null && (document.getElementById(%[1]q).value = %[2]q) !== ""`, id, text))
	}
}

// then opens a page and presses a button of it.
func (s *server) then(open func(context.Context), value, shows string) func(context.Context) {
	return func(ctx context.Context) {
		s.t.Helper()
		open(ctx)
		s.postedBy(ctx, chromedp.Click(chromedp.CSS(`main button[value="`+value+`"]:not([hidden])`)))
		is(s.t, ctx, "what follows "+value, shows)
	}
}

// answeringPages are the pages on which people answer, or take an answer back. What can be typed
// there is typed: an answer by mistake would be stored.
func (s *server) answeringPages(ctx context.Context) map[string]tried {
	s.details = wire.ToolDetails{Description: "Refunds an order.", Parameters: json.RawMessage(refundSchema)}
	asked, fields, pair := s.waits(refund), s.waits(everyField), []wire.Run{s.waits(payment), s.waits(payment)}
	question, link := s.at(questionPath(asked)), s.at(s.linked(asked, wire.LinkRequest{For: "anna", Edit: true}))
	change := func(open func(context.Context)) func(context.Context) {
		return s.filled(s.then(open, "change", `document.getElementById("f0") !== null`), "f0", "400.50")
	}
	compare := func(open func(context.Context)) func(context.Context) {
		return s.then(change(open), "compare", `document.querySelectorAll(".changed").length === 1`)
	}
	held, heldByLink, heldTogether := s.waits(payment), s.waits(payment), []wire.Run{s.waits(payment), s.waits(payment)}
	outcomes := []string{questionPath(held), s.link(heldByLink), bulkPath(heldTogether...)}
	for _, of := range outcomes {
		s.then(s.at(of), "resume", isHeld)(ctx)
	}
	return map[string]tried{
		"a question":             {[]wire.Run{asked}, question, "textarea reason, button change, summary , a #content", "body"},
		"a question with fields": {[]wire.Run{fields}, s.filled(s.at(questionPath(fields)), "f1", "7"), "textarea f0, input f1, input f2, input f3-1, input f5.1, textarea reason", "main"},
		"a link":                 {[]wire.Run{asked}, link, "textarea reason, button change", "main"},
		"a link with fields":     {[]wire.Run{fields}, s.filled(s.at(s.link(fields)), "f1", "7"), "textarea f0, input f1, input f2, textarea reason", "main"},
		"a link with a code":     {[]wire.Run{asked}, s.at(s.linked(asked, wire.LinkRequest{For: "anna@example.com", Require: engine.RequireCode})), "input code, button code, textarea reason", "main"},
		"an edit":                {[]wire.Run{asked}, change(question), "input f0, textarea f2, button compare, button look", "main"},
		"an edit by a link":      {[]wire.Run{asked}, change(link), "input f0, button compare, button look", "main"},
		"a difference":           {[]wire.Run{asked}, compare(question), "textarea reason, button change", "main"},
		"a difference by a link": {[]wire.Run{asked}, compare(link), "textarea reason, button change", "main"},
		"several questions":      {pair, s.at(bulkPath(pair...)), "textarea reason, a " + questionPath(pair[0]) + ", a /", "main"},
		"an outcome":             {[]wire.Run{held}, s.at(outcomes[0]), "a ?, a /runs/" + held.ID, "main"},
		"an outcome by a link":   {[]wire.Run{heldByLink}, s.at(outcomes[1]), "a ?", "main"},
		"several outcomes":       {heldTogether, s.at(outcomes[2]), "a " + questionPath(heldTogether[0]), "main"},
	}
}

// journal is all that is stored of runs.
func (s *server) journal(runs []wire.Run) string {
	s.t.Helper()
	var all []byte
	for _, run := range runs {
		head, err := s.worker.Store.Load(s.t.Context(), s.worker.Tenant, run.ThreadID)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(append(all, core.Encode(head)...), core.Encode(s.now(run))...)
	}
	return string(all)
}

// Enter on a control that is no answer stores nothing, on each page where people answer.
func TestEnterOnEveryControl(t *testing.T) {
	t.Parallel()
	s := serveAt(t, &still{now: frontendtest.NewClock().Now()}, withUndo)
	first := browser(t)
	freezes(t, first)
	for name, page := range s.answeringPages(first) {
		t.Run(name, func(t *testing.T) {
			s.t = t
			before := s.journal(page.runs)
			for i, n := 0, 1; i < n; i++ {
				all := s.entersOn(first, page, i)
				if n = len(all); i == 0 {
					for _, one := range strings.Split(page.has, ", ") {
						if !slices.ContainsFunc(all, func(c string) bool { return strings.HasPrefix(c, one) }) {
							t.Fatalf("its controls are %q, and not %q", all, one)
						}
					}
				}
				if after := s.journal(page.runs); after != before {
					t.Fatalf("Enter on %q stored something: it was\n%s\nand is\n%s", all[i], before, after)
				}
			}
		})
	}
}

// entersOn opens a page in a tab of its own, and presses Enter on one of its controls.
func (s *server) entersOn(first context.Context, of tried, i int) []string {
	s.t.Helper()
	ctx, leave := tab(s.t, first)
	defer leave()
	ctx, stop := context.WithTimeout(ctx, waits/2)
	defer stop()
	freezes(s.t, ctx)
	of.open(ctx)
	all, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(controls, of.part, core.Encode(answering))))
	if err != nil || i >= len(all) {
		s.t.Fatalf("there are the controls %q, %v", all, err)
	}
	do(s.t, ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`controls[%d].focus()`, i)), chromedp.KeyEvent(kb.Enter))
	is(s.t, ctx, "the end of what Enter does on "+all[i], isOver)
	did, err := chromedp.Run(ctx, chromedp.Evaluate[string](`sessionStorage.did ?? ""`))
	if err != nil {
		s.t.Fatal(err)
	}
	if did == "post" {
		select {
		case <-s.posted:
		case <-time.After(waits):
			s.t.Fatalf("the form that %s sends was not answered", all[i])
		}
	}
	return all
}
