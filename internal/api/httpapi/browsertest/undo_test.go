package browsertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// undoable is for how long answers on these pages are held.
const undoable = 8 * time.Second

// withUndo is [withConsole] with answers that are held.
func withUndo(o *httpapi.Options) {
	o.Limits.Hold = undoable
	withConsole(o)
}

// heldStill makes time in a page pass only by a call of passes. A note of the last words of the
// countdown outlives the page.
const heldStill = `
let passed = 0;
performance.now = () => passed;
window.passes = (ms) => void (passed += ms);
addEventListener("DOMContentLoaded", () => {
	const held = document.getElementById("held"), undo = document.getElementById("undo");
	if (held) new MutationObserver(() => held.querySelector("#left") || sessionStorage.setItem("ended", held.textContent + (undo ? " " + undo.disabled : ""))).observe(held, { childList: true });
});`

// freezes stops the time of all pages that are opened from now on.
func freezes(t *testing.T, ctx context.Context) {
	t.Helper()
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: heldStill}); err != nil {
		t.Fatal(err)
	}
}

// scriptless is what a browser is like that runs no script.
func scriptless(t *testing.T, ctx context.Context) {
	t.Helper()
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
}

// countdown is a server whose clock only the test moves, and a question.
type countdown struct {
	*server
	still *still
	run   wire.Run
}

func counted(t *testing.T) countdown {
	t.Helper()
	clock := &still{now: frontendtest.NewClock().Now()}
	s := serveAt(t, clock, withUndo)
	return countdown{s, clock, s.waits(payment)}
}

// says waits until the page has a text.
func (c countdown) says(ctx context.Context, text string) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(ctx, waits)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.WaitVisible(fmt.Sprintf(`//main//*[contains(normalize-space(.), %q)]`, text))); err != nil {
		c.t.Fatalf("the page doesn't say %q: %v", text, err)
	}
}

// isOpen says whether the question is open again, and nothing stored takes effect.
func (c countdown) isOpen() bool { c.t.Helper(); return len(c.now(c.run).Pending) == 1 }

// The seconds are counted down from what the server says, also after the page is loaded again. At
// the end, nothing can be undone any more, and the page says what became of the answer.
func TestTheHoldIsCountedDown(t *testing.T) {
	t.Parallel()
	c := counted(t)
	ctx := browser(t)
	freezes(t, ctx)
	c.openConsole(ctx, questionPath(c.run))
	c.pressed(ctx, "Approve")
	shows := func(seconds int) {
		t.Helper()
		is(t, ctx, "the seconds that are left", fmt.Sprintf(`document.getElementById("left")?.textContent === "%d" && document.getElementById("undo")?.disabled === false`, seconds))
	}
	shows(8)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`passes(3000)`))
	shows(5)
	c.still.moves(2 * time.Second)
	c.openConsole(ctx, questionPath(c.run))
	shows(6)
	c.still.moves(6 * time.Second)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`passes(6000)`))
	c.reads(ctx, "Answered: Yes")
	is(t, ctx, "the end of the countdown", `sessionStorage.getItem("ended") === "It starts now. true" && document.getElementById("undo") === null`)
	c.worker.Drain(c.run.ID)
	if d := c.stored(c.run); d == nil || d.Action != "resume" {
		t.Errorf("stored is %+v", d)
	}
}

// The button takes the answer back, and so does a key, with and without the script of the console,
// and on the page of a link.
func TestAnAnswerIsTakenBackInABrowser(t *testing.T) {
	t.Parallel()
	press := chromedp.Click(chromedp.CSS("#undo"))
	for name, way := range map[string]struct {
		by           chromedp.Action[chromedp.Void]
		link, script bool
	}{
		"the button": {press, false, true}, "the key": {chromedp.KeyEvent("z"), false, true}, "without a script": {press, false, false}, "a link": {press, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := counted(t)
			ctx := browser(t)
			at := questionPath(c.run)
			if way.link {
				at = strings.TrimPrefix(c.link(c.run), c.url)
			}
			if way.script {
				freezes(t, ctx)
			} else {
				scriptless(t, ctx)
			}
			c.openConsole(ctx, at)
			c.says(ctx, "You can undo your answer for 8 seconds")
			c.pressed(ctx, "Approve")
			c.reads(ctx, "Approved")
			if c.isOpen() {
				t.Fatal("nothing is stored")
			}
			c.postedBy(ctx, way.by)
			c.says(ctx, "Nothing was done.")
			if !c.isOpen() {
				t.Error("it isn't taken back")
			}
			c.worker.Drain(c.run.ID)
			c.openConsole(ctx, at)
			c.pressed(ctx, "Deny")
			c.reads(ctx, "Denied")
		})
	}
}

// Of two tabs, both show the answer that is held, and both can take it back. The second undo
// changes nothing.
func TestTwoTabsTakeAnAnswerBack(t *testing.T) {
	t.Parallel()
	c := counted(t)
	first := browser(t)
	second, leave := chromedp.NewContext(first)
	t.Cleanup(leave)
	for _, ctx := range []context.Context{first, second} {
		scriptless(t, ctx)
		c.openConsole(ctx, questionPath(c.run))
	}
	c.pressed(first, "Approve")
	c.reads(first, "Approved")
	c.pressed(second, "Deny")
	c.says(second, "Your answer was not used")
	c.reads(second, "Approved")
	for _, ctx := range []context.Context{second, first} {
		c.pressed(ctx, "Undo")
		c.says(ctx, "Nothing was done.")
		if !c.isOpen() {
			t.Fatal("it isn't taken back")
		}
	}
}

// A page that was left open has the button for longer than the server takes it.
func TestAnUndoThatComesTooLateInABrowser(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]bool{"the console": false, "a link": true} {
		t.Run(name, func(t *testing.T) {
			c := counted(t)
			ctx := browser(t)
			scriptless(t, ctx)
			at := questionPath(c.run)
			if link {
				at = strings.TrimPrefix(c.link(c.run), c.url)
			}
			c.openConsole(ctx, at)
			c.pressed(ctx, "Approve")
			c.reads(ctx, "Approved")
			c.still.moves(undoable + time.Second)
			c.worker.Drain(c.run.ID)
			c.pressed(ctx, "Undo")
			c.says(ctx, "It was too late to undo your answer.")
			c.reads(ctx, "Answered: Yes")
			if d := c.stored(c.run); d == nil || d.Action != "resume" {
				t.Errorf("stored is %+v", d)
			}
		})
	}
}
