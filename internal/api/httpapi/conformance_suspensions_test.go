package httpapi_test

import (
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func TestASuspensionIsReadAndAnsweredWithoutItsRun(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	path := "/v1/suspensions/" + sus
	if waits := decoded[wire.Approval](t, s.send("GET", path, "").text); waits.RunID != run.ID || waits.Suspension.ID != sus || waits.ToolName != "refund" {
		t.Errorf("it waits as %+v", waits)
	}
	s.posts(posted{path, `{"action":"maybe"}`, "", 400, "bad_action"},
		posted{path, `{"action":"resume","grant":"all"}`, "", 400, "bad_grant"},
		posted{path, `{}`, "", 400, "unclear_decision"},
		posted{path, `{"action":"cancel","grant":"run"}`, "", 400, "contradictory"},
		posted{path, `{"action":"resume","result":{"x":1}}`, "", 400, "wrong_kind"},
		posted{path, `{"action":"resume","arguments":[1]}`, "", 422, "invalid_arguments"},
		posted{path, `{"action":"resume","shown":"v1:0"}`, "", 409, "changed"},
		posted{path, `{"action":"resume"}`, "", 202, "accepted"},
		posted{path, `{"action":"resume"}`, "", 200, "already_decided"},
		posted{path, `{"action":"cancel"}`, "", 409, "already_decided"})
	if became := decoded[wire.Outcome](t, s.send("GET", path, "").text); became.State != "answered" || became.RunID != run.ID {
		t.Errorf("it became %+v", became)
	}
}

func TestASuspensionThatCannotBeAnsweredSo(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	sus := s.worker.Suspend(run.ID,
		frontendtest.Call{ID: "own", Tool: "refund", Kind: core.KindApproval, Approvers: []string{"token:anna"}},
		frontendtest.Call{ID: "starter", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter},
		frontendtest.Call{ID: "result", Tool: "refund", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult},
		frontendtest.Call{ID: "schema", Tool: "locate", Kind: core.KindClient, Schema: []byte(`{"type":"string"}`)},
		frontendtest.Call{ID: "again", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "late", Tool: "refund", Kind: core.KindApproval, Deadline: 1})
	at := func(call string) string { return "/v1/suspensions/" + sus[call] }
	s.posts(posted{at("own"), `{"action":"resume"}`, "", 403, "not_an_approver"},
		posted{at("starter"), `{"action":"resume"}`, "", 403, "separation_of_duties"},
		posted{at("result"), `{"action":"resume"}`, "", 422, "result_required"},
		posted{at("schema"), `{"result":1}`, "", 422, "schema_mismatch"})
	s.worker.TimeOut(run.ID, "late")
	s.posts(posted{at("late"), `{"action":"resume"}`, "", 409, "late_decision"})
	s.worker.Resuspend(run.ID, frontendtest.Call{ID: "again", Tool: "refund", Kind: core.KindApproval})
	s.posts(posted{at("again"), `{"action":"resume"}`, "", 409, "stale_suspension"})
	s.posts(posted{"/v1/runs/" + run.ID + "/cancel", "", "", 202, ""})
	s.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	s.posts(posted{at("own"), `{"action":"cancel"}`, "", 409, "run_done"})
}

func TestABatchOverHTTP(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval})
	path := "/v1/runs/" + run.ID + "/decisions"
	both := `{"decisions":[{"target":"c1","action":"resume"},{"target":"c2","action":"cancel"}],"all_or_none":true}`
	s.posts(posted{path, `{"decisions":[{"target":"c1","action":"resume"},{"target":"c3","action":"cancel"}],"all_or_none":true}`, "", 409, "batch_refused"},
		posted{path, both, "", 202, "accepted"}, posted{path, both, "", 200, "already_decided"},
		posted{path, `{"decisions":[{"target":"c1","action":"cancel"},{"target":"c2","action":"cancel"}],"all_or_none":true}`, "", 409, "batch_refused"})
	problem := s.send("POST", path, `{"decisions":[{"target":"c1","action":"cancel"},{"target":"c2","action":"cancel"}],"all_or_none":true}`).problem(t)
	if problem.BatchExtra == nil || len(problem.Answers) != 2 {
		t.Fatalf("%+v", problem)
	}
	first, second := problem.Answers[0], problem.Answers[1]
	if first.Status != 409 || first.Code != "already_decided" || first.Winner == nil || second.Status != 200 || second.Same == nil || !*second.Same {
		t.Errorf("the answers are %+v and %+v", first, second)
	}
}

func TestAConversationIsFoundByItsKeyOverHTTP(t *testing.T) {
	s := newServer(t, settings{})
	s.posts(posted{"/v1/runs", `{"agent":"desk","input":"hi","thread_key":"chat/7 ü"}`, "", 202, ""},
		posted{"/v1/runs", `{"agent":"desk","input":"hi","thread_key":"chat/7 ü","thread_id":"thr_x"}`, "", 400, "invalid_request"})
	found := decoded[wire.Thread](t, s.send("GET", "/v1/threads?key=chat%2F7+%C3%BC", "").text)
	if found.Key != "chat/7 ü" || found.Status != "created" || found.Cursor == "" {
		t.Errorf("found %+v", found)
	}
	if got := s.send("GET", "/v1/threads", ""); got.StatusCode != 400 {
		t.Errorf("without a key: %d %s", got.StatusCode, got.text)
	}
}

func TestEventsFromTheTail(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Ask(run.ID, frontendtest.Call{ID: "c1", Tool: "refund"})
	page := func(query string) wire.EventPage {
		return decoded[wire.EventPage](t, s.send("GET", "/v1/runs/"+run.ID+"/events?"+query, "", header("Accept", "application/json")).text)
	}
	all, tail := page(""), page("from=tail")
	if len(all.Items) == 0 || len(tail.Items) != 0 || tail.Next != all.Next {
		t.Errorf("all: %d events to %s; the tail: %d to %s", len(all.Items), all.Next, len(tail.Items), tail.Next)
	}
	if now := decoded[wire.Run](t, s.send("GET", "/v1/runs/"+run.ID, "").text); now.Cursor != all.Next {
		t.Errorf("the run says %s", now.Cursor)
	}
	s.worker.Finish(run.ID, "done")
	if more := page("after=" + tail.Next); len(more.Items) == 0 || more.Items[0].Seq != all.Items[len(all.Items)-1].Seq+1 {
		t.Errorf("behind the tail: %+v", more)
	}
	if got := s.send("GET", "/v1/runs/"+run.ID+"/events?from=head", "", header("Accept", "application/json")); got.StatusCode != 400 {
		t.Errorf("from=head: %d", got.StatusCode)
	}
	call := decoded[wire.Call](t, s.send("GET", "/v1/runs/"+run.ID+"/calls/c1", "").text)
	if call.ToolName != "refund" || string(call.Arguments) == "" {
		t.Errorf("%+v", call)
	}
}

// The newest events come first in pages alone: not in streams, and not with what only the oldest
// first can have.
func TestEventsNewestFirst(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Works(run.ID, frontendtest.Answer{Text: "I look.", Calls: []frontendtest.Ran{{ID: "c1", Tool: "find", Arguments: []byte("{}")}}})
	s.worker.Finish(run.ID, "done")
	all, err := s.client.EventPage(t.Context(), run.ID, client.EventQuery{})
	if err != nil || len(all.Items) < 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	var newest []client.Event
	for after, done := "", false; !done; {
		page, err := s.client.EventPage(t.Context(), run.ID, client.EventQuery{Newest: true, After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		newest, after, done = append(newest, page.Items...), page.Next, page.Done
	}
	slices.Reverse(newest)
	if !slices.EqualFunc(newest, all.Items, func(a, b client.Event) bool { return a.Seq == b.Seq }) {
		t.Errorf("%+v, want %+v", newest, all.Items)
	}
	for _, query := range []string{"order=desc&wait=5", "order=desc&from=tail", "order=desc&tree=true", "order=newest"} {
		if got := s.send("GET", "/v1/runs/"+run.ID+"/events?"+query, "", header("Accept", "application/json")); got.StatusCode != 400 {
			t.Errorf("%s: %d", query, got.StatusCode)
		}
	}
	if got := s.send("GET", "/v1/runs/"+run.ID+"/events?order=desc", "", header("Accept", "text/event-stream")); got.StatusCode != 400 {
		t.Errorf("a stream: %d", got.StatusCode)
	}
}
