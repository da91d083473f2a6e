package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// hidden is a field that a page's form carries.
func (p shown) hidden(name string) string {
	_, rest, _ := strings.Cut(p.text, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// approval is what a person sends who presses Approve on the page.
func (p shown) approval() url.Values {
	form := url.Values{"action": {"resume"}}
	for _, name := range []string{"form", "shown", "hold", "withdrawn"} {
		if value := p.hidden(name); value != "" {
			form.Set(name, value)
		}
	}
	return form
}

func (p shown) undo() url.Values {
	return url.Values{"action": {"withdraw"}, "form": {p.form()}, "decision_id": {p.hidden("decision_id")}}
}

// held is a question whose approval anna has just given.
func held(t *testing.T) (s *server, anna *browser, run, of string, asked, answered shown) {
	t.Helper()
	s = newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	anna, of = s.signedIn("anna"), "/questions/"+sus
	asked = anna.get(of)
	if !strings.Contains(asked.text, "You can undo your answer for 8 seconds") {
		t.Fatal(asked.text)
	}
	got := anna.post(of, asked.approval())
	if got.status != http.StatusSeeOther || got.to != of {
		t.Fatalf("%d to %q: %s", got.status, got.to, got.text)
	}
	return s, anna, run, of, asked, anna.get(of)
}

func TestAnAnswerIsHeldAndUndone(t *testing.T) {
	s, anna, run, of, asked, answered := held(t)
	for _, text := range []string{"<h1>Approved</h1>", `It starts in <span id="left">8</span> s`, `data-left="8000"`, ">Undo</button>", "Look again"} {
		if !strings.Contains(answered.text, text) {
			t.Errorf("no %q in %s", text, answered.text)
		}
	}
	for range 2 { // pressed twice
		if got := anna.post(of, answered.undo()); got.status != http.StatusSeeOther || got.to != of {
			t.Fatalf("%d to %q: %s", got.status, got.to, got.text)
		}
	}
	open := anna.get(of)
	if !strings.Contains(open.text, "You took your answer back. Nothing was done.") || len(s.pending(run)) != 1 {
		t.Fatalf("it isn't open: %s", open.text)
	}
	// the form that was drawn before, sent once more
	if got := anna.post(of, asked.approval()); got.status != http.StatusConflict || !strings.Contains(got.text, "This answer was taken back before") || len(s.pending(run)) != 1 {
		t.Errorf("a copy of the form: %d %s", got.status, got.text)
	}
	s.worker.Drain(run)
	if got := anna.post(of, anna.get(of).approval()); got.status != http.StatusSeeOther || got.to != of {
		t.Fatalf("answered once more: %d to %q: %s", got.status, got.to, got.text)
	}
	if again := anna.get(of); !strings.Contains(again.text, "It starts in") || again.hidden("decision_id") == answered.hidden("decision_id") {
		t.Errorf("it isn't held once more: %s", again.text)
	}
}

// Who took an answer back is said to that person only, before and after a worker has journaled it.
func TestOnlyWhoTookAnAnswerBackReadsYou(t *testing.T) {
	s, anna, run, of, asked, answered := held(t)
	bert := s.signedIn("bert")
	copied := asked.approval()
	copied.Set("form", bert.get("/").form())
	if got := anna.post(of, answered.undo()); got.status != http.StatusSeeOther {
		t.Fatalf("%d: %s", got.status, got.text)
	}
	for _, journaled := range []bool{false, true} {
		for name, sees := range map[*browser]string{anna: "You took your answer back.", bert: "The answer was taken back."} {
			if page := name.get(of); !strings.Contains(page.text, sees+" Nothing was done.") {
				t.Errorf("journaled %v: no %q in %s", journaled, sees, page.text)
			}
		}
		if got := bert.post(of, copied); got.status != http.StatusConflict || strings.Contains(got.text, "You took") || !strings.Contains(got.text, "This answer was taken back before") {
			t.Errorf("journaled %v: the same answer by another: %d %s", journaled, got.status, got.text)
		}
		if !journaled {
			s.worker.Drain(run)
		}
	}
	// by the same form as anna's, bert answers, and takes that back: the newest counts
	got := bert.post(of, bert.get(of).approval())
	if got.status != http.StatusSeeOther {
		t.Fatalf("%d: %s", got.status, got.text)
	}
	bert.post(of, bert.get(of).undo())
	if mine, hers := bert.get(of), anna.get(of); !strings.Contains(mine.text, "You took your answer back.") || !strings.Contains(hers.text, "The answer was taken back.") {
		t.Errorf("bert sees %s\nanna sees %s", mine.text, hers.text)
	}
}

func TestAnUndoThatComesTooLateSaysSo(t *testing.T) {
	s, anna, run, of, _, answered := held(t)
	s.clock.AfterFunc(9*time.Second, func() {})
	if page := anna.get(of); strings.Contains(page.text, ">Undo<") || !strings.Contains(page.text, "Answered: Yes") {
		t.Errorf("after the hold: %s", page.text)
	}
	s.worker.Drain(run)
	got := anna.post(of, answered.undo())
	late := anna.get(got.to)
	if got.status != http.StatusSeeOther || !strings.Contains(late.text, "too late to undo") || !strings.Contains(late.text, "Answered: Yes") {
		t.Errorf("%d to %q: %s", got.status, got.to, late.text)
	}
}

func TestAnUndoAfterTheRunWasCancelledSaysSo(t *testing.T) {
	s, anna, run, of, _, answered := held(t)
	if _, err := s.reads.Cancel(t.Context(), frontend.Caller{Tenant: tenant, By: "token:olga", Roles: []access.Role{access.Admin}}, run); err != nil {
		t.Fatal(err)
	}
	s.worker.End(run, core.Reason{Kind: core.Cancelled}, "")
	got := anna.post(of, answered.undo())
	if late := anna.get(got.to); got.status != http.StatusSeeOther || !strings.Contains(late.text, "too late to undo") || strings.Contains(late.text, ">Undo<") {
		t.Errorf("%d to %q: %s", got.status, got.to, late.text)
	}
}

// Only who gave an answer takes it back, from a page of the console.
func TestUndosThatTakeNothingBack(t *testing.T) {
	s, anna, run, of, _, answered := held(t)
	bert, rita, elsewhere := s.signedIn("bert"), s.signedIn("rita"), s.browser()
	good := answered.undo()
	with := func(name, value string) url.Values {
		form := maps.Clone(good)
		form[name] = []string{value}
		return form
	}
	if page := bert.get(of); strings.Contains(page.text, ">Undo<") || !strings.Contains(page.text, "It starts in") {
		t.Errorf("another person sees %s", page.text)
	}
	for name, send := range map[string]func() shown{
		"another person":         func() shown { return bert.post(of, with("form", bert.get("/").form())) },
		"one who only reads":     func() shown { return rita.post(of, with("form", rita.get("/").form())) },
		"no one":                 func() shown { return elsewhere.post(of, with("form", elsewhere.get("/signin").form())) },
		"a form of another":      func() shown { return bert.post(of, good) },
		"no token of the form":   func() shown { return anna.post(of, with("form", "")) },
		"another decision":       func() shown { return anna.post(of, with("decision_id", "x")) },
		"no decision":            func() shown { return anna.post(of, with("decision_id", "")) },
		"another question":       func() shown { return anna.post(of+"x", good) },
		"an address with a form": func() shown { return anna.get(of + "?" + good.Encode()) },
		"from another site": func() shown {
			return anna.do(http.MethodPost, of, good, map[string]string{"Sec-Fetch-Site": "cross-site"})
		},
	} {
		if got := send(); got.status == http.StatusSeeOther && !strings.HasPrefix(got.to, "/signin") {
			t.Errorf("%s: %d to %s", name, got.status, got.to)
		}
		if len(s.pending(run)) != 0 {
			t.Fatalf("%s: it was taken back", name)
		}
	}
}

// An answer that can't be held isn't lost: the page said that it may be final.
func TestAnAnswerThatCannotBeHeldIsFinal(t *testing.T) {
	for name, takes := range map[string]time.Duration{"a worker has the run": time.Hour, "its lease is over": time.Second} {
		s := newServer(t)
		started, err := s.reads.Start(t.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
		if err != nil {
			t.Fatal(err)
		}
		one, two, run := payment("50"), payment("60"), started.Run.ID
		one.ID, two.ID = "c1", "c2"
		sus := s.worker.Suspend(run, one, two)["c2"]
		anna, of, now := s.signedIn("anna"), "/questions/"+sus, s.clock.Now()
		page := anna.get(of)
		thread, _ := core.ThreadOf(run)
		if _, err := s.reads.Decide(t.Context(), frontend.Caller{Tenant: tenant, By: "token:bert"}, run, wire.Decision{Target: "c1", Action: "resume"}); err != nil {
			t.Fatal(err) // what the worker takes the run for
		}
		if _, err := s.worker.Store.Claim(t.Context(), engine.ClaimRequest{Tenant: tenant, Thread: thread, Claim: "another", Now: now.UnixMilli(),
			LeaseEnd: now.Add(takes).UnixMilli(), Due: now.Add(takes).UnixMilli(), Schema: core.SchemaVersion}); err != nil {
			t.Fatal(err)
		}
		s.clock.AfterFunc(2*time.Second, func() {})
		got := anna.post(of, page.approval())
		final := anna.get(got.to)
		if got.status != http.StatusSeeOther || !strings.Contains(final.text, "It is final.") || !strings.Contains(final.text, "Answered: Yes") || strings.Contains(final.text, ">Undo<") {
			t.Errorf("%s: %d to %q: %s", name, got.status, got.to, final.text)
		}
	}
}

func TestAnswersThatAreNeverHeldSaySoBefore(t *testing.T) {
	s := newServer(t)
	_, sus := s.waits(`"go"`, frontendtest.Call{Kind: core.KindInterrupt})
	if page := s.signedIn("anna").get("/questions/" + sus); !strings.Contains(page.text, "Your answer is final.") || page.hidden("hold") != "" {
		t.Error(page.text)
	}
}

// Two tabs of one person: the second answer counts for nothing, and shows the first.
func TestASecondTabShowsTheHeldAnswer(t *testing.T) {
	_, anna, _, of, asked, _ := held(t)
	denial := asked.approval()
	denial.Set("action", "cancel")
	got := anna.post(of, denial)
	if page := anna.get(got.to); got.to != of+"?late" || !strings.Contains(page.text, "Your answer was not used") || !strings.Contains(page.text, "<h1>Approved</h1>") || !strings.Contains(page.text, ">Undo<") {
		t.Errorf("%d to %q: %s", got.status, got.to, page.text)
	}
	if got := anna.post(of, asked.approval()); got.status != http.StatusSeeOther || got.to != of {
		t.Errorf("the same answer: %d to %q", got.status, got.to)
	}
}
