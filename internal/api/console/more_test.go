package console_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

var (
	moreLink = regexp.MustCompile(`<a class="more" href="([^"]*)"`)
	rowLink  = regexp.MustCompile(`<a class="what" href="([^"]*)"`)
)

// all are the links of the rows of a list, on all of its pages.
func (b *browser) all(path string) (rows []string, pages int) {
	b.Helper()
	for next := path; next != ""; pages++ {
		text := b.get(next).text
		for _, m := range rowLink.FindAllStringSubmatch(text, -1) {
			rows = append(rows, m[1])
		}
		next = ""
		if m := moreLink.FindStringSubmatch(text); m != nil {
			next = path + html.UnescapeString(m[1])
		}
		if pages > 9 {
			b.Fatalf("%s has no end", path)
		}
	}
	return rows, pages
}

// The link below a list leads to what comes next, and its filter stays.
func TestTheRestOfAList(t *testing.T) {
	s := newServer(t)
	for i := range 60 {
		if _, err := s.reads.Start(t.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)}); err != nil {
			t.Fatal(err)
		}
		s.dies(fmt.Sprintf("wh_%d", i), "404 Not Found")
	}
	for path, name := range map[string]string{"/runs": "olga", "/operate/dead": "hugo"} {
		rows, pages := s.signedIn(name).all(path)
		seen := map[string]bool{}
		for _, row := range rows {
			seen[row] = true
		}
		if len(rows) != 60 || len(seen) != 60 || pages != 2 {
			t.Errorf("%s: %d rows, %d different ones, on %d pages", path, len(rows), len(seen), pages)
		}
	}
	first := s.signedIn("olga").get("/runs?agent=desk&status=queued").text
	if m := moreLink.FindStringSubmatch(first); m != nil && !strings.Contains(m[1], "agent=desk&amp;") {
		t.Errorf("the filter is gone: %s", m[1])
	}
}
