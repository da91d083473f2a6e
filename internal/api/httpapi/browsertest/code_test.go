package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// TestACodeIsAskedForAndTypedInABrowser: what was typed stays when a code is sent, and the page
// that asks again has no code in it.
func TestACodeIsAskedForAndTypedInABrowser(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ctx := browser(t)
	run := s.waits(frontendtest.Call{Tool: "pay", Arguments: []byte(`{"amount":120}`)})
	made, err := s.client.MakeLink(t.Context(), run.ID, wire.LinkRequest{Target: run.Pending[0].Suspension.ID, For: "anna@example.com", Require: engine.RequireCode})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.open(ctx, made.Link); err != nil {
		t.Fatal(err)
	}
	s.types(ctx, "#reason", "as agreed")
	s.types(ctx, "#code", kb.Enter)
	<-s.posted
	if len(s.codes) > 0 {
		t.Fatal("Enter has sent a code")
	}
	s.postedBy(ctx, chromedp.Click(chromedp.CSS("button[value=code]")))
	if len(s.codes) != 1 {
		t.Fatalf("%d codes were sent", len(s.codes))
	}
	s.shows(ctx, "A code was sent.", s.codes[0])
	s.picture(ctx, "code-sent.png")
	if reason, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("#reason").value`)); err != nil || reason != "as agreed" {
		t.Errorf("the reason is %q, %v", reason, err)
	}
	s.types(ctx, "#code", "12345")
	s.postedBy(ctx, chromedp.Click(chromedp.CSS("button.yes")))
	s.shows(ctx, "Nothing was stored", s.codes[0])
	s.picture(ctx, "code-wrong.png")
	if now := s.now(run); len(now.Pending) != 1 {
		t.Fatalf("a wrong code answered: %+v", now)
	}
	s.types(ctx, "#code", s.codes[0])
	s.postedBy(ctx, chromedp.Click(chromedp.CSS("button.yes")))
	if err := chromedp.Do(ctx, chromedp.WaitNotPresent(chromedp.CSS("#code"))); err != nil {
		t.Fatal(err)
	}
	s.picture(ctx, "code-used.png")
	if now := s.now(run); len(now.Pending) != 0 {
		t.Errorf("the code did not answer: %+v", now)
	}
}

func (s *server) types(ctx context.Context, field, text string) {
	s.t.Helper()
	if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS(field), text)); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the page says something, and demands that it has the other nowhere.
func (s *server) shows(ctx context.Context, says, never string) {
	s.t.Helper()
	if err := chromedp.Do(ctx, chromedp.WaitVisible("//p[contains(., '"+says+"')]")); err != nil {
		s.t.Fatal(err)
	}
	page, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.documentElement.outerHTML`))
	if err != nil || strings.Contains(page, never) {
		s.t.Fatalf("%v\n%s", err, page)
	}
}

// picture keeps what a person sees in the folder that DORMOUSE_PICTURES names, for one who looks.
func (s *server) picture(ctx context.Context, name string) {
	s.t.Helper()
	to := os.Getenv("DORMOUSE_PICTURES")
	if to == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name), png, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
