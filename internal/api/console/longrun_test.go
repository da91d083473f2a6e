package console_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// eventsOfAnswer is how many events each answer of worked has.
const eventsOfAnswer = 4

// worked is a run of so many events: answers of the model, each with a call.
func (s *server) worked(events int) (run string) {
	s.Helper()
	started, err := s.reads.Start(s.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"Sort the mail."`)})
	if err != nil {
		s.Fatal(err)
	}
	run = started.Run.ID
	for i := range events / eventsOfAnswer {
		s.worker.Works(run, frontendtest.Answer{Text: fmt.Sprintf("Letter %d.", i), Took: time.Second, Calls: []frontendtest.Ran{
			{ID: fmt.Sprint("w", i), Tool: "sort", Arguments: []byte(fmt.Sprintf(`{"letter":%d}`, i)), Result: []byte(`"done"`), Took: time.Second}}})
	}
	return run
}

var (
	letterSaid = regexp.MustCompile(`Letter (\d+)\.`)
	earlier    = regexp.MustCompile(`href="(/runs/[^"]+\?before=[^"]+)">Earlier entries`)
)

// A long run is read page by page from its end; every entry is on one page, whole.
func TestALongRunIsShownFromItsEnd(t *testing.T) {
	s := newServer(t)
	run := s.worked(1000)
	olga := s.signedIn("olga")
	var said []string
	pages := 0
	for path := "/runs/" + run; path != ""; pages++ {
		page := olga.get(path)
		var here []string
		for _, m := range letterSaid.FindAllStringSubmatch(page.text, -1) {
			here = append(here, m[1])
		}
		entries := strings.Count(page.text, `<li class="entry model"`)
		if page.status != 200 || len(here) != entries || len(here) > 60 || strings.Count(page.text, "Newest entries") != min(pages, 1) {
			t.Fatalf("%s: %d, %d of %d answers", path, page.status, len(here), entries)
		}
		if n := strings.Count(page.text, `<summary>Arguments`); n < entries {
			t.Errorf("%s: %d calls have arguments, of %d", path, n, entries)
		}
		said, path = append(here, said...), ""
		if m := earlier.FindStringSubmatch(page.text); m != nil {
			path = m[1]
		} else if !strings.Contains(page.text, `class="entry message"`) {
			t.Error("the last page has not the beginning")
		}
	}
	if len(said) != 250 || !slices.IsSortedFunc(said, func(a, b string) int { return len(a) - len(b) }) || said[0] != "0" || said[249] != "249" || pages < 5 {
		t.Errorf("%d answers on %d pages: %v", len(said), pages, said)
	}
	if got := olga.get("/runs/" + run + "?before=x"); got.status != 400 {
		t.Errorf("a place that is none gets %d", got.status)
	}
}

// What an earlier page shows of a wait that ended later is no lie: not that it still waits.
func TestAWaitThatEndsOnALaterPage(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	page, err := s.reads.Events(t.Context(), frontend.Caller{Tenant: tenant, By: "token:olga"}, run, query.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.reads.DecideSuspension(t.Context(), frontend.Caller{Tenant: tenant, By: "token:anna"}, sus, decisionTo("cancel")); err != nil {
		t.Fatal(err)
	}
	s.worker.Drain(run)
	got := s.signedIn("olga").get("/runs/" + run + "?before=" + page.Next).text
	if strings.Contains(got, "Waits for an answer") || !strings.Contains(got, "Its end is on a later page.") || !strings.Contains(got, `href="/questions/`+sus) {
		t.Error(got)
	}
}

// The page of a run of 5,000 events takes at most 1.5 times as long as that of one of 200.
// "ratio" is that, of pages that take turns; a page "of 200" also has all that there is.
func BenchmarkTheRunPage(b *testing.B) {
	s := newServer(b)
	short, long := s.worked(200-8), s.worked(5000)
	olga := s.signedIn("olga")
	var took [2]time.Duration
	for b.Loop() {
		for i, run := range []string{short, long} {
			began := time.Now()
			if page := olga.get("/runs/" + run); page.status != 200 || strings.Contains(page.text, "Earlier entries") != (i == 1) {
				b.Fatalf("%d", page.status)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
	b.ReportMetric(float64(took[0].Milliseconds())/float64(b.N), "ms/short")
}
