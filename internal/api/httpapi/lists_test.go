package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// started starts a run with an input and metadata.
func (s *server) started(input, metadata string) wire.Run {
	s.t.Helper()
	run, err := s.client.StartRun(s.t.Context(), wire.StartRequest{Agent: "desk", Input: core.Encode(input), Metadata: []byte(metadata)}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

func TestFiltersInAQuery(t *testing.T) {
	s := newServer(t, settings{})
	done := s.started("Refund A-17\nplease", `{"order":"A-17","n":7,"a.b":"c d","größe":"+1"}`)
	s.worker.Finish(done.ID, "refunded")
	open := s.started("Refund B-2", `{"order":"B-2"}`)
	for query, want := range map[string][]string{
		"":                                      {open.ID, done.ID},
		"status=&agent=&reason=&limit=&cursor=": {open.ID, done.ID},
		"metadata.order=A-17":                   {done.ID},
		"metadata.order=A-17&status=created":    nil,
		"metadata.n=7&metadata.a.b=c+d":         {done.ID},
		"metadata.a.b=c%20d":                    {done.ID},
		"metadata.gr%C3%B6%C3%9Fe=%2B1":         {done.ID},
		"metadata.gr%C3%B6%C3%9Fe=+1":           nil, // a + is a blank
		"metadata.order=":                       nil,
		"metadata.order=%00":                    nil,
		"reason=natural_end&response_state=done&agent=desk":                           {done.ID},
		"created_after=2026-03-01T12:00:00Z":                                          {open.ID, done.ID},
		"created_after=2026-03-01T12:00:00.001Z":                                      nil,
		"created_before=2026-03-01t13:00:01%2B01:00&status=done":                      {done.ID},
		"created_before=2026-03-01T12:00:00Z":                                         nil,
		"created_before=0001-01-01T00:00:00Z":                                         nil,
		"created_after=0001-01-01T00:00:00Z&created_before=9999-12-31T23:59:59.9999Z": {open.ID, done.ID},
	} {
		for _, path := range []string{"/v1/runs", "/v1/threads/" + done.ThreadID + "/runs"} {
			got := s.send("GET", path+"?"+query, "")
			var ids []string
			for _, r := range decoded[wire.Page[wire.Run]](t, got.text).Items {
				ids = append(ids, r.ID)
			}
			if strings.Contains(path, "threads") && len(want) > 0 {
				want = []string{done.ID}
			}
			if got.StatusCode != 200 || fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Errorf("%s?%s: %d, %v; want %v", path, query, got.StatusCode, ids, want)
			}
		}
	}
}

func TestFiltersThatCannotBeRead(t *testing.T) {
	s := newServer(t, settings{})
	run := s.started("x", `{"k":"v"}`)
	const moment = "must be a time in RFC 3339, such as 2026-03-01T09:30:00Z; in a query, write the + of an offset as %2B"
	many := url.Values{}
	for i := range 17 {
		many.Set(fmt.Sprint("metadata.k", i), "v")
	}
	for query, want := range map[string]struct{ code, detail string }{
		"status=asleep":                            {"invalid_request", "status must be created, running, waiting or done"},
		"reason=failed":                            {"invalid_request", "reason must be natural_end, behavior_requested, stopped, cancelled, blocked or error"},
		"response_state=ok":                        {"invalid_request", "response_state must be done, no_op or awaiting_input"},
		"created_after=yesterday":                  {"invalid_request", "created_after " + moment},
		"created_before=2026-03-01":                {"invalid_request", "created_before " + moment},
		"created_before=2026-03-01T12:00:00+01:00": {"invalid_request", "created_before " + moment},
		"created_after=2026-02-30T12:00:00Z":       {"invalid_request", "created_after " + moment},
		"metadata.=v":                              {"invalid_request", "the filter metadata. has no key; write metadata.KEY=VALUE"},
		"metadata.k=v&metadata.k=v":                {"invalid_request", `the query parameter "metadata.k" is repeated; send it once`},
		"metadata.k=v&metadata%2Ek=w":              {"invalid_request", `the query parameter "metadata.k" is repeated; send it once`},
		"metadata.k=%FF":                           {"invalid_request", "a metadata filter is not UTF-8"},
		"status=done&status=done":                  {"invalid_request", `the query parameter "status" is repeated; send it once`},
		"created_after=&created_after=":            {"invalid_request", `the query parameter "created_after" is repeated; send it once`},
		many.Encode():                              {"invalid_request", "a list takes at most 16 metadata filters"},
		"metadata=v":                               {"unknown_field", `this operation has no query parameter "metadata"; remove it`},
		"metadata%5Bk%5D=v":                        {"unknown_field", `this operation has no query parameter "metadata[k]"; remove it`},
		"Metadata.k=v":                             {"unknown_field", `this operation has no query parameter "Metadata.k"; remove it`},
		"kind=approval":                            {"unknown_field", `this operation has no query parameter "kind"; remove it`},
		"count=true":                               {"unknown_field", `this operation has no query parameter "count"; remove it`},
		"status=done&cursor=x":                     {"bad_cursor", ""},
	} {
		for _, path := range []string{"/v1/runs", "/v1/threads/" + run.ThreadID + "/runs"} {
			got := s.unchecked("GET", path+"?"+query, "")
			if p := got.problem(t); got.StatusCode != 400 || p.Code != want.code || want.detail != "" && p.Detail != want.detail {
				t.Errorf("%s?%s: %d %s %q; want %s %q", path, query, got.StatusCode, p.Code, p.Detail, want.code, want.detail)
			}
		}
	}
	for _, query := range []string{"kind=any", "kind=approval&kind=client"} {
		if p := s.unchecked("GET", "/v1/approvals?"+query, "").problem(t); p.Code != "invalid_request" {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

func TestACursorIsNotGoodForOtherFilters(t *testing.T) {
	s := newServer(t, settings{})
	for range 3 {
		s.worker.Finish(s.started("x", `{"k":"v"}`).ID, "done")
	}
	first, err := s.client.RunPage(t.Context(), client.RunFilter{Limit: 1, Status: "done", Metadata: map[string]string{"k": "v"}})
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	for query, want := range map[string]int{"status=done&metadata.k=v": 200, "limit=2&metadata.k=v&status=done": 200, "": 400, "status=done": 400,
		"metadata.k=v": 400, "status=done&metadata.k=w": 400, "status=done&metadata.k=v&agent=desk": 400} {
		got := s.send("GET", "/v1/runs?"+query+"&cursor="+url.QueryEscape(first.Next), "")
		if got.StatusCode != want || want == 400 && got.problem(t).Code != "bad_cursor" {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
}

func TestFiltersOfAnotherTenantFindNothing(t *testing.T) {
	s := newServer(t, settings{token: "mine", grants: []access.Grant{grant("bob", "other", "theirs", access.Admin)}})
	run := s.started("x", `{"order":"A-17"}`)
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	theirs := header("Authorization", "Bearer theirs")
	for _, path := range []string{"/v1/runs?metadata.order=A-17", "/v1/runs?created_after=2026-01-01T00:00:00Z&status=waiting", "/v1/approvals?kind=approval",
		"/v1/approvals?thread_id=" + run.ThreadID} {
		if got := s.send("GET", path, "", header("Authorization", "Bearer "+s.token)); !strings.Contains(got.text, run.ID) {
			t.Errorf("%s: %s", path, got.text)
		}
		if got := s.send("GET", path, "", theirs); got.StatusCode != 200 || strings.Contains(got.text, run.ID) {
			t.Errorf("another tenant's %s: %s", path, got.text)
		}
	}
	if got := s.send("GET", "/v1/threads/"+run.ThreadID+"/runs?metadata.order=A-17", "", theirs); got.StatusCode != 404 {
		t.Errorf("another tenant's thread: %s", got.text)
	}
}

func TestTheFirstLineIsForReaders(t *testing.T) {
	s := newServer(t, settings{token: "all", grants: []access.Grant{grant("starter", "default", "starts", access.Start), grant("clerk", "default", "decides", access.Decide)}})
	run := s.started("Refund A-17\nplease", `{}`)
	s.worker.Who = true
	s.worker.Drain(run.ID)
	for _, path := range []string{"/v1/runs", "/v1/runs/" + run.ID} {
		if got := s.send("GET", path, "", header("Authorization", "Bearer "+s.token)); !strings.Contains(got.text, `"first_line":"Refund A-17"`) || !strings.Contains(got.text, `"started_by":{"by":"token:test"`) {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	for _, token := range []string{"starts", "decides"} {
		if got := s.send("POST", "/v1/runs/"+run.ID+"/cancel", "", header("Authorization", "Bearer "+token)); got.StatusCode != 202 || strings.Contains(got.text, "A-17") {
			t.Errorf("%s: %s", token, got.text)
		}
	}
}
