package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// questionAbout is the page that asks about a call.
func questionAbout(t *testing.T, call frontendtest.Call) answer {
	t.Helper()
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	call.ID, call.Kind = "c1", core.KindApproval
	s.worker.Suspend(run.ID, call)
	return s.send("GET", s.makeLink(run.ID, "c1", "anna").Link, "", header("Accept", "text/html"))
}

func TestThePageOfAQuestionTakesNoStyleAndNoScriptButItsOwn(t *testing.T) {
	page := questionAbout(t, frontendtest.Call{Tool: "pay", Arguments: json.RawMessage(`{"a":"<script>x</script>","<i>":1}`)})
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(page.text, "<script") || strings.Contains(page.text, "<i>") || strings.Contains(page.text, " style=") {
		t.Errorf("%s\n%s", policy, page.text)
	}
}

func TestThePageShowsNumbersDigitForDigitInGroups(t *testing.T) {
	for digits, want := range map[string]string{
		"7":           `>7<`,
		"1234":        `>1234<`,
		"12345":       `><span class="group">12</span>345<`,
		"-1234567.50": `><span class="group">-1</span><span class="group">234</span>567.50<`,
		"-123456":     `><span class="group">-123</span>456<`,
		"1000000e3":   `><span class="group">1</span><span class="group">000</span>000e3<`,
	} {
		page := questionAbout(t, frontendtest.Call{Tool: "pay", Arguments: json.RawMessage(`{"n":` + digits + `}`)})
		if !strings.Contains(page.text, `dir="ltr"`+want) {
			t.Errorf("%s is not shown as %s: %s", digits, want, page.text[strings.Index(page.text, "<dl"):])
		}
	}
}

func TestThePageSaysHowMuchTimeIsLeft(t *testing.T) {
	begins := frontendtest.NewClock().Now()
	for left, want := range map[time.Duration]string{
		72 * time.Hour:  `<p class="time"><strong>3 days left.</strong> It does not run unless you approve it by Wednesday 4 March 2026, 12:00:00 UTC.`,
		48 * time.Hour:  `<p class="time"><strong>48 hours left.</strong>`,
		3 * time.Hour:   `<p class="time urgent"><strong>3 hours left.</strong>`,
		5 * time.Minute: `<p class="time urgent"><strong>5 minutes left.</strong>`,
		time.Minute:     `<strong>Less than two minutes left.</strong>`,
	} {
		page := questionAbout(t, frontendtest.Call{Tool: "pay", Deadline: begins.Add(left).UnixMilli()})
		if !strings.Contains(page.text, want) {
			t.Errorf("%s left, and no %q", left, want)
		}
	}
	if page := questionAbout(t, frontendtest.Call{Tool: "pay"}); !strings.Contains(page.text, "No time limit.") {
		t.Error("without a deadline it does not say so")
	}
}
