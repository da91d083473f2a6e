package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// inboxOf reads the inbox and says which calls it has.
func (s *server) inboxOf(query string, as func(*http.Request)) (wire.InboxPage, string) {
	s.t.Helper()
	got := s.send("GET", "/v1/approvals?"+query, "", as)
	if got.StatusCode != 200 {
		s.t.Fatalf("%s: %d %s", query, got.StatusCode, got.text)
	}
	page := decoded[wire.InboxPage](s.t, got.text)
	var calls []string
	for _, a := range page.Items {
		calls = append(calls, a.CallID+" "+a.AskedAs)
	}
	return page, strings.Join(calls, ", ")
}

func TestTheInboxByDeadlineAndByWhoIsAsked(t *testing.T) {
	all := []access.Role{access.Start, access.Read, access.Decide}
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("boss", "default", "b", all...), grant("anna", "default", "a", access.Decide),
		grant("ben", "default", "n", access.Read), grant("eve", "other", "e", all...)}})
	s.worker.Who = true
	ask := func(call frontendtest.Call) { s.worker.Suspend(s.startWith("b"), call) }
	later := s.worker.Clock.Now().UnixMilli()
	ask(frontendtest.Call{ID: "named", Tool: "refund", Kind: core.KindApproval, Deadline: later + 9_000_000, Approvers: []string{"token:anna", "token:ben"}})
	ask(frontendtest.Call{ID: "role", Tool: "Transfer", Kind: core.KindApproval, Deadline: later + 5_000_000, Approvers: []string{"role:decide"}})
	ask(frontendtest.Call{ID: "starter", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})
	ask(frontendtest.Call{ID: "client", Tool: "browser", Kind: core.KindClient, Deadline: later + 7_000_000})
	for query, want := range map[string]string{
		"":                                   "named named, role group, starter anyone, client anyone",
		"order=since":                        "named named, role group, starter anyone, client anyone",
		"order=deadline":                     "role group, client anyone, named named, starter anyone",
		"order=deadline&kind=question":       "role group, named named, starter anyone",
		"order=deadline&mine=any&q=REFUND":   "named named, starter anyone",
		"mine=named":                         "named named",
		"mine=group":                         "role group",
		"q=transfer":                         "role group",
		"q=nothing":                          "",
		"order=deadline&tool=refund&limit=9": "named named, starter anyone",
	} {
		if _, got := s.inboxOf(query, bearer("a")); got != want {
			t.Errorf("%s: %s; want %s", query, got, want)
		}
	}
	for token, want := range map[string]string{"b": "role group", "n": "", "e": ""} {
		if _, got := s.inboxOf("mine=any&kind=approval", bearer(token)); got != want {
			t.Errorf("%s is asked %q, want %q", token, got, want)
		}
	}
	for query, want := range map[string]string{"": "<nil>", "count=true": "&{3 false}", "count=true&limit=1&order=deadline": "&{3 false}", "count=true&kind=client": "&{0 false}",
		"count=true&mine=named": "&{1 false}", "count=true&q=refund&limit=1": "&{1 true}"} {
		if page, _ := s.inboxOf(query, bearer("a")); fmt.Sprint(page.Count) != want {
			t.Errorf("%s counts %v, want %s", query, page.Count, want)
		}
	}
	if page, _ := s.inboxOf("count=true", bearer("e")); page.Count.Questions != 0 {
		t.Errorf("another tenant counts %v", page.Count)
	}
	for _, query := range []string{"order=asc", "mine=me", "count=2", "kind=all", "q=" + strings.Repeat("x", 201)} {
		if got := s.send("GET", "/v1/approvals?"+query, "", bearer("a")); got.StatusCode != 400 {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
	page, _ := s.inboxOf("order=deadline&limit=1", bearer("a"))
	if got := s.send("GET", "/v1/approvals?order=since&cursor="+page.Next, "", bearer("a")); got.code() != "bad_cursor" {
		t.Errorf("a cursor of another order: %d %s", got.StatusCode, got.text)
	}
	if _, got := s.inboxOf("order=deadline&cursor="+page.Next, bearer("e")); got != "" {
		t.Errorf("another tenant sees %s by a cursor", got)
	}
}
