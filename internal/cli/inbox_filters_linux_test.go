package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestInboxShowsTheCallsOfItsFilters(t *testing.T) {
	waits := func(kind, tool string) wire.Approval {
		return wire.Approval{RunID: runID, Agent: "desk", Pending: wire.Pending{Kind: kind, Tool: tool, Suspension: wire.Suspension{ID: "sus_" + tool}}}
	}
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": func(w http.ResponseWriter, r *http.Request) {
		page := wire.Page[wire.Approval]{Items: []wire.Approval{}}
		for _, item := range []wire.Approval{waits("approval", "pay"), waits("client", "locate")} {
			if kind := r.URL.Query().Get("kind"); kind == "" || kind == item.Kind {
				page.Items = append(page.Items, item)
			}
		}
		answer(200, page)(w, r)
	}})
	p := openTerminal(t, 90, 30)
	exit := p.start(t.Context(), s, nil, "approvals", "-i", "--agent", "desk", "--kind", "client", "--thread", "thr_x7", "--limit", "7", "--cursor", "c2")
	p.sees("locate")
	p.types("q")
	if got := <-exit; got != cmdline.ExitOK {
		t.Errorf("exit code %d", got)
	}
	if strings.Contains(p.everything(), "pay") {
		t.Errorf("it shows a call of another kind: %q", p.everything())
	}
	if got, want := s.last("GET").query, "agent=desk&kind=client&limit=100&thread_id=thr_x7"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestApprovalsAreAskedForByTheirFilters(t *testing.T) {
	var query string
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Encode()
		page := wire.InboxPage{Items: []wire.Approval{{RunID: runID, Agent: "desk", Pending: wire.Pending{Kind: "approval", Tool: "pay"}}}, Next: "c2"}
		if r.URL.Query().Get("count") == "true" {
			page.Count = &wire.InboxCount{Questions: 41, AtLeast: true}
		}
		answer(200, page)(w, r)
	}})
	got := dormouse(t, s, "approvals", "--tool", "pay", "--text", "May 4", "--mine", "any", "--order", "deadline", "--kind", "question", "--count")
	if want := "count=true&kind=question&limit=20&mine=any&order=deadline&q=May+4&tool=pay"; query != want {
		t.Errorf("asked for %s, want %s", query, want)
	}
	for _, text := range []string{"at least 41 questions\n", "--kind question", "--tool pay", "--text 'May 4'", "--mine any", "--order deadline", "--cursor c2"} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in %s", text, got.stdout)
		}
	}
	one := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": answer(200, wire.InboxPage{Count: &wire.InboxCount{Questions: 1}})})
	contains(t, dormouse(t, one, "approvals", "--count").stdout, "1 question\n")
	if got = dormouse(t, s, "approvals"); strings.Contains(query, "count") || strings.Contains(got.stdout, "questions") {
		t.Errorf("uncounted: asked for %s, printed %s", query, got.stdout)
	}
}
