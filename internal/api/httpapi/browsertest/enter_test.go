package browsertest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// TestEnterNeverAnswers puts into the form what sends a form when Enter is pressed in it. The
// browser then presses the form's first button that is not disabled, be it hidden.
func TestEnterNeverAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ctx := browser(t)
	run := s.waits(frontendtest.Call{Tool: "pay", Arguments: []byte(`{"amount":120}`)})
	for _, kind := range []string{"text", "checkbox"} {
		if err := s.open(ctx, s.link(run)); err != nil {
			t.Fatal(err)
		}
		add := `(() => {
			const input = Object.assign(document.createElement("input"), { type: "` + kind + `" });
			document.querySelector("form").append(input);
			input.focus();
			return document.activeElement === input;
		})()`
		if focused, err := chromedp.Run(ctx, chromedp.Evaluate[bool](add)); err != nil || !focused {
			t.Fatalf("%s: %v", kind, err)
		}
		s.postedBy(ctx, chromedp.KeyEvent(kb.Enter))
		if now := s.now(run); len(now.Pending) != 1 {
			t.Fatalf("Enter in a field of the type %s answered: %+v", kind, now)
		}
		if err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS("button.yes"))); err != nil {
			t.Fatalf("%s: the question is not shown again: %v", kind, err)
		}
	}
	s.postedBy(ctx, chromedp.Click(chromedp.CSS("button.yes")))
	if now := s.now(run); len(now.Pending) != 0 {
		t.Errorf("Approve did not answer: %+v", now)
	}
}

// postedBy does something in the browser, and returns when the form that it sends was answered.
func (s *server) postedBy(ctx context.Context, does chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(ctx, does); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.posted:
	case <-time.After(waits):
		s.t.Fatal("no form was sent: is the first button disabled?")
	}
}

func (s *server) now(run wire.Run) wire.Run {
	s.t.Helper()
	now, err := s.client.Run(s.t.Context(), run.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}
