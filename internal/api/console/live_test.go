package console_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// listen opens the stream of an open page, and gives what it sends line by line.
func (b *browser) listen() (next func() string, status int) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.url+"/live?from=tail", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	got, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { got.Body.Close() })
	lines := bufio.NewScanner(got.Body)
	return func() string {
		if !lines.Scan() {
			return "the end"
		}
		return lines.Text()
	}, got.StatusCode
}

// until reads to the first line that begins so.
func until(t *testing.T, next func() string, begins string) string {
	t.Helper()
	for {
		line := next()
		if strings.HasPrefix(line, begins) {
			return line
		}
		if line == "the end" {
			t.Fatalf("the stream ended before %q", begins)
		}
	}
}

// An open page hears what is asked and what others answer. One who only decides hears no arguments
// of decisions.
func TestAnOpenPageHearsWhatHappens(t *testing.T) {
	s := newServer(t)
	anna := s.signedIn("anna")
	next, status := anna.listen()
	if status != http.StatusOK {
		t.Fatal(status)
	}
	until(t, next, "event: counts")
	run, sus := s.waits(`"go"`, payment("7041776"))
	until(t, next, "event: call.suspended")
	if data := until(t, next, "data: "); !strings.Contains(data, sus) || strings.Contains(data, "7041776") {
		t.Errorf("it hears %s", data)
	}
	if _, err := s.reads.DecideSuspension(t.Context(), frontend.Caller{Tenant: tenant, By: "token:olga", Via: "api", Roles: []access.Role{access.Decide}}, sus, decisionTo("cancel")); err != nil {
		t.Fatal(err)
	}
	s.worker.Drain(run)
	until(t, next, "event: decision.recorded")
	if data := until(t, next, "data: "); !strings.Contains(data, sus) || !strings.Contains(data, "token:olga") {
		t.Errorf("it hears %s", data)
	}
}

// The stream ends with the token that opened it, and is for no one else.
func TestAPageThatNoOneMaySeeHearsNothing(t *testing.T) {
	s := newServer(t)
	if _, status := s.browser().listen(); status != http.StatusSeeOther {
		t.Errorf("a browser in which no one has signed in gets %d", status)
	}
	rita := s.signedIn("rita")
	next, _ := rita.listen()
	until(t, next, "event: counts")
	s.tokens.remove("rita-secret")
	s.waits(`"go"`, payment("50"))
	for line := next(); line != "the end"; line = next() {
		if strings.HasPrefix(line, "event: call") {
			t.Error("it hears of a call though its token was taken away")
		}
	}
}
