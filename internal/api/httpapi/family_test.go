package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func agentCall(id string) frontendtest.Call {
	return frontendtest.Call{ID: id, Tool: "research", Agent: "researcher"}
}

func approval(id string) frontendtest.Call {
	return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval}
}

func threadOf(run string) string {
	thread, _ := core.ThreadOf(run)
	return thread
}

// parent is a run that waits for two children, whose calls c1 wait for approval.
func (s *server) parent() (root string, children, sus map[string]string) {
	s.t.Helper()
	root = s.start().ID
	children, sus = s.worker.Launch(root, agentCall("a"), agentCall("b")), map[string]string{}
	for id, child := range children {
		sus[id] = s.worker.Suspend(child, approval("c1"))["c1"]
	}
	return root, children, sus
}

func TestDecisionsReachTheChildrenOfARun(t *testing.T) {
	s := newServer(t, settings{})
	root, _, sus := s.parent()
	path := "/v1/runs/" + root + "/decisions"
	s.posts(posted{path, fmt.Sprintf(`{"all_or_none":true,"decisions":[{"target":%q,"action":"resume"},{"target":%q,"action":"resume"}]}`, sus["a"], sus["b"]), "", 409, "batch_spans_runs"},
		posted{path, `{"target":"a","action":"resume"}`, "", 400, "wrong_kind"})
	got := s.send("POST", path, fmt.Sprintf(`{"decisions":[{"target":%q,"action":"resume"},{"target":%q,"action":"cancel"},{"target":"sus_2_x_none","action":"cancel"}]}`, sus["a"], sus["b"]))
	codes := ""
	for _, one := range decoded[wire.DecisionAnswers](t, got.text).Answers {
		codes += one.Code + " "
	}
	if codes != "accepted accepted call_not_found " {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestTheConversationOfAChildRefusesCallers(t *testing.T) {
	s := newServer(t, settings{options: withHooks})
	root, children, _ := s.parent()
	thread := threadOf(children["a"])
	for _, one := range []posted{
		{"/v1/runs", fmt.Sprintf(`{"agent":"desk","input":"more","thread_id":%q}`, thread), "", 409, "child_thread"},
		{"/v1/threads/" + thread + "/messages", `{"input":"more"}`, "", 409, "child_thread"},
		{"/v1/runs/" + children["a"] + "/retry", "", "", 409, "child_thread"},
	} {
		s.posts(one)
		if p := decoded[wire.Problem](t, s.send("POST", one.path, one.body).text); p.RunID != root {
			t.Errorf("POST %s names run %q as the parent", one.path, p.RunID)
		}
	}
	s.delivers(delivery{"message", fmt.Sprintf(`{"thread":%q,"text":"more"}`, thread), 409, "child_thread"})
}

func TestARunAndTheInboxShowWhatChildrenWaitFor(t *testing.T) {
	s := newServer(t, settings{})
	root, children, sus := s.parent()
	run, err := s.client.Run(t.Context(), root)
	if err != nil || len(run.Pending) != 2 || len(run.Children) != 2 || run.Usage.Total.Runs != 3 {
		t.Fatalf("%+v, %v", run, err)
	}
	for i, id := range []string{"a", "b"} {
		p, c := run.Pending[i], run.Children[i]
		if c.RunID != children[id] || c.CallID != id || p.Suspension.ID != sus[id] || len(p.Path) != 1 || p.Path[0] != (wire.PathStep{RunID: children[id], CallID: id, Agent: "researcher"}) {
			t.Errorf("%s: %+v, %+v", id, c, p)
		}
	}
	child, err := s.client.Run(t.Context(), children["a"])
	if err != nil || child.Parent == nil || child.Parent.RunID != root || child.Pending[0].Path != nil {
		t.Errorf("%+v, %v", child, err)
	}
	page, err := s.client.ApprovalPage(t.Context(), client.ApprovalFilter{})
	if err != nil || len(page.Items) != 2 || len(page.Items[0].Path) != 2 || page.Items[0].Path[0].RunID != root {
		t.Errorf("the inbox: %+v, %v", page.Items, err)
	}
	if _, err := s.client.Decide(t.Context(), root, run.Pending[1].Approve()); err != nil {
		t.Error(err)
	}
}

// With tree=true, a page and a stream hold the events of the runs below, each with its path, and go
// on behind any of them.
func TestTheEventsOfATree(t *testing.T) {
	s := newServer(t, settings{})
	root, children, _ := s.parent()
	path := "/v1/runs/" + root + "/events?tree=true"
	read := func(after string, limit int) wire.EventPage {
		t.Helper()
		got := s.send("GET", fmt.Sprintf("%s&limit=%d&after=%s", path, limit, after), "", accepts("application/json"))
		if got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
		return decoded[wire.EventPage](t, got.text)
	}
	whole := read("", 1000)
	below := map[string]int{}
	for _, e := range whole.Items {
		if n := len(e.Path); n > 0 && (n > 1 || e.Path[0].RunID != e.RunID || e.Path[0].CallID == "") {
			t.Errorf("%s of %s has the path %+v", e.Type, e.RunID, e.Path)
		}
		below[e.RunID]++
	}
	if below[root] == 0 || below[children["a"]] == 0 || below[children["b"]] == 0 || !whole.Waiting || whole.Done {
		t.Fatalf("events by run: %v, waiting %v", below, whole.Waiting)
	}
	var pages []wire.Event
	for after := ""; ; after = pages[len(pages)-1].Cursor {
		page := read(after, 2)
		if pages = append(pages, page.Items...); len(page.Items) == 0 {
			break
		}
	}
	if diff := cmp.Diff(whole.Items, pages, cmpopts.IgnoreFields(wire.Event{}, "Cursor")); diff != "" {
		t.Errorf("in pages (-whole +pages):\n%s", diff)
	}
	stream := s.send("GET", path, "", accepts("text/event-stream"))
	if n := strings.Count(stream.text, "\nevent: "); n != len(whole.Items) || !strings.Contains(stream.text, `"path":[`) {
		t.Errorf("the stream has %d of %d events: %d %.300s", n, len(whole.Items), stream.StatusCode, stream.text)
	}
	for _, wrong := range []string{"?tree=yes", "?tree=true&after=MS4xLjA"} {
		if got := s.send("GET", "/v1/runs/"+root+"/events"+wrong, "", accepts("application/json")); got.StatusCode != 400 {
			t.Errorf("%s: %d %s", wrong, got.StatusCode, got.text)
		}
	}
}

func accepts(media string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Accept", media) }
}
