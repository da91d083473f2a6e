package browsertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

var refund = frontendtest.Call{Tool: "issue_refund", Message: "Refunds above 100 need approval.",
	Arguments: json.RawMessage(`{"amount":430,"currency":"EUR","note":"Arrived broken, two photos. Sorry about that!\nNo return needed.","order":"B-9","tell":true}`)}

const refundSchema = `{"type":"object","required":["amount","order"],"properties":{"amount":{"type":"number","minimum":0},"currency":{"enum":["EUR","USD"]},
	"note":{"type":"string","description":"What the customer reads."},"order":{"type":"string","title":"The order's number"},"tell":{"type":"boolean"}}}`

// A person changes an amount on a phone: the fields, a mistake, the difference, the way back, and
// then exactly what the page of the difference showed.
func TestAnEditShowsItsDifferenceFirst(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("run .ci/browser, which installs axe-core: %v", err)
	}
	s := serve(t, withConsole)
	s.details = wire.ToolDetails{Description: "Refunds an order.", Kind: "http", Target: "POST shop.example.com", Parameters: json.RawMessage(refundSchema)}
	ctx := browser(t)
	do(t, ctx, chromedp.EmulateViewport(390, 844))
	run := s.waits(refund)
	waits := func(step string) {
		t.Helper()
		if now := s.now(run); len(now.Pending) != 1 {
			t.Fatalf("%s answered", step)
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth`))
		if err != nil || wide > 390 {
			t.Errorf("%s: the page is %d px wide, %v", step, wide, err)
		}
		do(t, ctx, chromedp.Evaluate[chromedp.Void](string(source)+";void 0"))
		if found, err := chromedp.Run(ctx, chromedp.Evaluate[string](axe, chromedp.EvalAwaitPromise)); err != nil || found != "" {
			t.Errorf("%s: %v\n%s", step, err, found)
		}
		s.picture(ctx, "edit-"+strings.ReplaceAll(step, " ", "-")+".png")
	}
	press := func(value string) {
		t.Helper()
		s.postedBy(ctx, chromedp.Click(chromedp.CSS(`main button[value="`+value+`"]:not([hidden])`)))
	}
	s.openConsole(ctx, "/questions/"+run.Pending[0].Suspension.ID)
	press("change")
	is(t, ctx, "the fields", `document.getElementById("f0").value === "430" && document.getElementById("f3").value === "B-9" && document.getElementById("f1-0").checked`)
	waits("fields")
	amount := func(text string) {
		t.Helper()
		do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("f0").value = "`+text+`"; document.getElementById("f0").focus()`))
	}
	amount("abc")
	s.postedBy(ctx, chromedp.KeyEvent(kb.Enter)) // in a field, Enter shows the difference
	is(t, ctx, "the mistake", `document.getElementById("f0-bad") !== null && document.getElementById("f0").value === "abc"`)
	waits("mistake")
	amount("400.50")
	s.postedBy(ctx, chromedp.KeyEvent(kb.Enter))
	is(t, ctx, "the difference", `document.querySelectorAll(".changed").length === 1 && document.querySelector(".was").textContent === "430" && document.querySelector(".now").textContent === "400.50"`)
	waits("difference")
	press("change")
	is(t, ctx, "the way back", `document.getElementById("f0").value === "400.50"`)
	waits("way back")
	press("compare")
	is(t, ctx, "the difference again", `document.querySelectorAll(".changed").length === 1`)
	press("edit")
	if now := s.now(run); len(now.Pending) != 0 {
		t.Fatal("nothing was stored")
	}
	head, err := s.worker.Store.Load(t.Context(), s.worker.Tenant, run.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	var ran []byte
	for _, signal := range head.Inbox {
		ran = append(ran, core.Encode(signal)...)
	}
	if want := strings.Replace(string(refund.Arguments), "430", "400.50", 1); !strings.Contains(string(ran), want) {
		t.Errorf("stored: %s, want the arguments %s", ran, want)
	}
}
