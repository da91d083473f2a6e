package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
)

// losing stores answers, or doesn't, and then fails in a way that doesn't say which. Its undo may
// fail, too.
type losing struct {
	console.Acts
	fails  error // nil: it works
	stores bool
	keeps  map[string]error // by question: an undo of its answer fails
}

func (a *losing) Withdraw(ctx context.Context, c frontend.Caller, sus, decision string) (wire.DecisionAnswer, error) {
	err := a.keeps[sus]
	if err != nil && !a.stores {
		return wire.DecisionAnswer{}, err
	}
	answer, failed := a.Acts.Withdraw(ctx, c, sus, decision)
	if err == nil {
		err = failed
	}
	return answer, err
}

func (a *losing) DecideSuspension(ctx context.Context, c frontend.Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error) {
	if a.fails == nil {
		return a.Acts.DecideSuspension(ctx, c, sus, d)
	}
	if a.stores {
		if _, err := a.Acts.DecideSuspension(ctx, c, sus, d); err != nil {
			return wire.DecisionAnswer{}, err
		}
	}
	return wire.DecisionAnswer{}, a.fails
}

// losingBulks are [console.Bulks] that may fail in a way that doesn't say what is stored.
type losingBulks struct {
	console.Bulks
	fails  error // nil: they work
	stores bool
}

func (b *losingBulks) Decide(ctx context.Context, c frontend.Caller, of wire.Bulk, atOnce bool) ([]bulk.Answer, error) {
	if b.fails == nil || b.stores {
		if answers, err := b.Bulks.Decide(ctx, c, of, atOnce); err != nil || b.fails == nil {
			return answers, err
		}
	}
	return nil, b.fails
}

var hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// sentAgain is the form of a page that doesn't know whether what was sent was stored.
func (p shown) sentAgain(t *testing.T, what, at string) url.Values {
	t.Helper()
	_, main, _ := strings.Cut(p.text, "<main>")
	form := url.Values{}
	for _, m := range hiddenFields.FindAllStringSubmatch(main, -1) {
		form.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	button := regexp.MustCompile(`name="action" value="([a-z]+)"`).FindStringSubmatch(main)
	if button == nil || !strings.Contains(main, "We do not know whether your "+what+" arrived") || !strings.Contains(main, `<a href="`+html.EscapeString(at)+`">See what is stored</a>`) {
		t.Fatalf("%d\n%s", p.status, p.text)
	}
	form.Set("action", button[1])
	return form
}

// decisions is how many answers wait for a worker.
func (s *server) decisions(run string) int {
	s.Helper()
	thread, _ := core.ThreadOf(run)
	head, err := s.worker.Store.Load(s.Context(), tenant, thread)
	if err != nil {
		s.Fatal(err)
	}
	return len(head.Inbox)
}

// The page of an answer of which the server doesn't know whether it is stored says so, and its form
// is the same answer: sent again, it is stored once.
func TestAnAnswerThatMayBeStoredIsSentAgain(t *testing.T) {
	odd := "as agreed \"with\" <b>Ann</b>\r\n\u202enot"
	for name, form := range map[string]url.Values{
		"yes":    {"action": {"resume"}, "reason": {odd}},
		"no":     {"action": {"cancel"}},
		"change": {"action": {"edit"}, "arguments": {`{"amount":40,"to":"Ann \u202e"}`}, "reason": {"less"}},
	} {
		for _, stores := range []bool{true, false} {
			for why, fails := range map[string]error{"a fault": errors.New("secret-path"), "a store that is away": fmt.Errorf("secret-path: %w", engine.ErrUnavailable)} {
				t.Run(fmt.Sprintf("%s, stored %v, %s", name, stores, why), func(t *testing.T) {
					s := newServer(t)
					run, sus := s.waits(`"go"`, payment("50"))
					anna, of := s.signedIn("anna"), "/questions/"+sus
					page := anna.get(of)
					s.acts.fails, s.acts.stores = fails, stores
					sent := url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "hold": {""}}
					for field, values := range form {
						sent[field] = values
					}
					lost := anna.post(of, sent)
					if lost.status < 500 || strings.Contains(lost.text, "secret") || strings.Contains(lost.text, "<b>Ann") {
						t.Fatalf("%d\n%s", lost.status, lost.text)
					}
					if got := s.decisions(run); got != map[bool]int{true: 1}[stores] {
						t.Fatalf("%d answers are stored", got)
					}
					s.acts.fails = nil
					again := lost.sentAgain(t, "answer", of)
					for range 2 {
						got := anna.post(of, again)
						if got.status != http.StatusSeeOther || got.to != of || s.decisions(run) != 1 {
							t.Fatalf("%d to %q, and %d answers are stored\n%s", got.status, got.to, s.decisions(run), got.text)
						}
					}
					s.worker.Drain(run)
					if got := anna.post(of, again); got.to != of {
						t.Errorf("after it was applied: to %q", got.to)
					}
					want := map[string]string{"yes": "Answered: Yes", "no": "Answered: No", "change": "Answered: Yes"}[name]
					if outcome := anna.get(of); !strings.Contains(outcome.text, want) || strings.Contains(outcome.text, "not used") {
						t.Error(outcome.text)
					}
				})
			}
		}
	}
}

// An answer that was sent again counts for nothing where another one was stored.
func TestAnotherAnswerWasStoredMeanwhile(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	anna, of := s.signedIn("anna"), "/questions/"+sus
	page := anna.get(of)
	s.acts.fails = errors.New("lost")
	edit := url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"edit"}, "arguments": {`{"amount":40}`}}
	again := anna.post(of, edit).sentAgain(t, "answer", of)
	s.acts.fails = nil
	edit.Set("arguments", `{"amount":30}`)
	if got := anna.post(of, edit); got.to != of || s.decisions(run) != 1 {
		t.Fatalf("%d to %q", got.status, got.to)
	}
	if got := anna.post(of, again); got.to != of+"?late" || s.decisions(run) != 1 {
		t.Errorf("to %q, and %d answers are stored", got.to, s.decisions(run))
	}
}

// An undo of which it isn't known whether it counted is sent again, too, and counts once.
func TestAnUndoThatMayBeStoredIsSentAgain(t *testing.T) {
	for _, stores := range []bool{true, false} {
		t.Run(fmt.Sprintf("stored %v", stores), func(t *testing.T) {
			s, anna, run, of, _, answered := held(t)
			s.acts.keeps, s.acts.stores = map[string]error{strings.TrimPrefix(of, "/questions/"): errors.New("secret-path")}, stores
			lost := anna.post(of, answered.undo())
			if lost.status < 500 || strings.Contains(lost.text, "secret") || len(s.pending(run)) != map[bool]int{true: 1}[stores] {
				t.Fatalf("%d, %d wait\n%s", lost.status, len(s.pending(run)), lost.text)
			}
			s.acts.keeps = nil
			again := lost.sentAgain(t, "undo", of)
			for range 2 {
				if got := anna.post(of, again); got.status != http.StatusSeeOther || got.to != of || len(s.pending(run)) != 1 {
					t.Errorf("%d to %q, %d wait: %s", got.status, got.to, len(s.pending(run)), got.text)
				}
			}
		})
	}
}

// Several answers, and the undo of several, are as one is: what may be stored is sent again.
func TestSeveralAnswersThatMayBeStoredAreSentAgain(t *testing.T) {
	for _, stores := range []bool{true, false} {
		t.Run(fmt.Sprintf("stored %v", stores), func(t *testing.T) {
			s := newServer(t)
			runs, sus := waitingRefunds(s, 3)
			slices.Sort(sus)
			anna, of := s.signedIn("anna"), bulkPath(sus...)
			form := anna.get(of).several("resume")
			form.Set("reason", "as agreed")
			s.bulks.fails, s.bulks.stores = errors.New("secret-path"), stores
			lost := anna.post("/bulk", form)
			if lost.status < 500 || strings.Contains(lost.text, "secret") || s.open(runs) != map[bool]int{false: 3}[stores] {
				t.Fatalf("%d, %d wait\n%s", lost.status, s.open(runs), lost.text)
			}
			s.bulks.fails = nil
			again := lost.sentAgain(t, "answer", of)
			for range 2 {
				if got := anna.post("/bulk", again); got.status != http.StatusSeeOther || got.to != of || s.open(runs) != 0 {
					t.Fatalf("%d to %q, %d wait\n%s", got.status, got.to, s.open(runs), got.text)
				}
			}
			if done := anna.get(of); strings.Count(done.text, "Approved by anna") != 3 {
				t.Error(done.text)
			}
			for _, run := range runs {
				if n := s.decisions(run); n != 1 {
					t.Errorf("%d answers are stored for one question", n)
				}
			}
		})
	}
}
