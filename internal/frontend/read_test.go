package frontend_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func TestAWaitingRunShowsWhatItWaitsFor(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	sus := x.worker.Suspend(run.ID,
		frontendtest.Call{ID: "z", Tool: "refund", Kind: core.KindApproval, Schema: []byte(`{"type":"object"}`)},
		frontendtest.Call{ID: "a", Tool: "camera", Kind: core.KindClient})
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "waiting" || len(got.Pending) != 2 {
		t.Fatalf("HA12 %+v, %v", got, err)
	}
	p := got.Pending[0]
	if p.CallID != "z" || p.Tool != "refund" || p.Kind != "approval" || p.Suspension.ID != sus["z"] || p.ResumeMode != "replay_tool_call" ||
		string(p.Arguments) != `{"order":"A-17"}` || string(p.Suspension.ResponseSchema) != `{"type":"object"}` {
		t.Errorf("C128 pending %+v", p)
	}
	if got.Pending[1].CallID != "a" {
		t.Errorf("the calls are not in the order of their suspension: %+v", got.Pending)
	}
	if _, err := x.decide(run.ID, sus["z"], yes); err != nil {
		t.Fatal(err)
	}
	got, err = x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "running" || len(got.Pending) != 1 || got.Pending[0].CallID != "a" {
		t.Errorf("after one answer: %+v, %v", got, err)
	}
}

func TestHowARunEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		end    core.Reason
		output bool
		error  bool
		code   string
	}{
		"natural_end": {core.Reason{Kind: core.NaturalEnd}, true, false, ""},
		"stopped":     {core.Reason{Kind: core.Stopped, Code: "max_rounds"}, false, false, "max_rounds"},
		"error":       {core.Reason{Kind: core.Failed, Code: "crash_loop"}, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			run := x.start()
			x.worker.End(run.ID, tt.end, "the last word")
			got, err := x.Run(t.Context(), anna, run.ID)
			if err != nil || got.Status != "done" || got.Reason == nil || *got.Reason != name {
				t.Fatalf("%+v, %v", got, err)
			}
			if (got.Output != nil) != tt.output || (got.Error != nil) != tt.error || got.Code != tt.code {
				t.Errorf("output %v, error %v, code %q", got.Output, got.Error, got.Code)
			}
		})
	}
}

func TestAwaitRun(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	got, err := x.AwaitRun(t.Context(), anna, run.ID, 3*time.Second)
	if err != nil || got.Status != "created" {
		t.Fatalf("nothing happens: %+v, %v", got, err)
	}
	before := x.clock.Now()
	var once sync.Once
	x.clock.Waiting = func() {
		once.Do(func() { x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}) })
	}
	got, err = x.AwaitRun(t.Context(), anna, run.ID, time.Hour)
	if err != nil || got.Status != "waiting" {
		t.Fatalf("it came to wait: %+v, %v", got, err)
	}
	if waited := x.clock.Now().Sub(before); waited > time.Second {
		t.Errorf("it was seen after %v", waited)
	}
}

func TestAHeldReadEndsAtTheLimit(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	before := x.clock.Now()
	if _, err := x.AwaitRun(t.Context(), anna, run.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if waited := x.clock.Now().Sub(before); waited != 20*time.Second {
		t.Errorf("held for %v", waited)
	}
}

func TestEventsInPages(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	after, seen := "", []wire.Event{}
	read := func(limit int) wire.EventPage {
		t.Helper()
		page, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{After: after, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		after, seen = page.Next, append(seen, page.Items...)
		return page
	}
	read(2)
	if page := read(1); len(page.Items) != 0 || page.Done {
		t.Errorf("all was read, and there is %+v", page)
	}
	if _, err := x.decide(run.ID, sus, yes); err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(run.ID, "done")
	if page := read(1); page.Done {
		t.Error("done before all was shown")
	}
	if page := read(1); !page.Done {
		t.Error("all was shown and the run is over")
	}
	for i, e := range seen {
		if e.Seq != int64(i+1) || e.RunID != run.ID {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if len(seen) != 4 || seen[0].Type != "call.ready" || seen[1].Type != "call.suspended" || seen[2].Type != "decision.recorded" || seen[3].Type != "run.status" {
		t.Errorf("events %+v", seen)
	}
	_, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{After: "nonsense"})
	x.wantCode(err, refusal.CodeBadCursor)
}

func TestEventsBelongToTheirRun(t *testing.T) {
	x := newFixture(t, nil)
	first := x.start()
	x.worker.Finish(first.ID, "one")
	s, err := x.Message(t.Context(), anna, first.ThreadID, "", wire.MessageRequest{Input: core.Encode("two")})
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(s.Run.ID, "two")
	for _, run := range []string{first.ID, s.Run.ID} {
		page, err := x.Events(t.Context(), anna, run, query.EventQuery{})
		if err != nil || len(page.Items) != 1 || page.Items[0].RunID != run || !page.Done {
			t.Errorf("events of %s: %+v, %v", run, page, err)
		}
	}
}

func TestLongPoll(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	var once sync.Once
	x.clock.Waiting = func() { once.Do(func() { x.worker.Finish(run.ID, "done") }) }
	page, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{Wait: 5 * time.Second})
	if err != nil || len(page.Items) == 0 || !page.Done {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestConversation(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Finish(run.ID, "done")
	s, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("thanks")})
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(s.Run.ID, "welcome")
	var texts []string
	for cursor := ""; ; {
		page, err := x.Messages(t.Context(), anna, run.ThreadID, query.List{Limit: 1, Cursor: cursor})
		if err != nil || len(page.Items) > 1 {
			t.Fatal(page, err)
		}
		for _, m := range page.Items {
			texts = append(texts, m.Role+": "+m.Text)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	want := []string{"user: refund A-17", "assistant: done", "user: thanks", "assistant: welcome"}
	if len(texts) != len(want) {
		t.Fatalf("messages %q", texts)
	}
	for i := range want {
		if texts[i] != want[i] {
			t.Errorf("message %d is %q, want %q", i, texts[i], want[i])
		}
	}
	thread, err := x.Thread(t.Context(), anna, run.ThreadID)
	if err != nil || thread.RunID != s.Run.ID || thread.Status != "done" {
		t.Errorf("thread %+v, %v", thread, err)
	}
	runs, err := x.ThreadRuns(t.Context(), anna, run.ThreadID, query.List{})
	if err != nil || len(runs.Items) != 2 {
		t.Errorf("runs %+v, %v", runs, err)
	}
}

func TestLists(t *testing.T) {
	x := newFixture(t, nil)
	done := x.start()
	x.worker.Finish(done.ID, "done")
	waiting, sus := x.waiting(core.KindApproval)

	page, err := x.Runs(t.Context(), anna, query.List{Status: "waiting"})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != waiting.ID || len(page.Items[0].Pending) != 1 {
		t.Errorf("waiting runs %+v, %v", page, err)
	}
	page, err = x.Runs(t.Context(), anna, query.List{Agent: "other"})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("runs of another agent %+v, %v", page, err)
	}
	_, err = x.Runs(t.Context(), anna, query.List{Status: "asleep"})
	x.wantCode(err, refusal.CodeInvalid)
	_, err = x.Runs(t.Context(), anna, query.List{Cursor: "%%%"})
	x.wantCode(err, refusal.CodeBadCursor)
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, err := x.Runs(t.Context(), anna, query.List{Limit: 1, Cursor: cursor})
		if err != nil || len(page.Items) > 1 {
			t.Fatal(page, err)
		}
		for _, r := range page.Items {
			seen[r.ID] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 2 {
		t.Errorf("paged through %v", seen)
	}

	inbox, err := x.Approvals(t.Context(), anna, query.List{})
	if err != nil || len(inbox.Items) != 1 || inbox.Items[0].RunID != waiting.ID || inbox.Items[0].Suspension.ID != sus ||
		!inbox.Items[0].Since.Equal(x.clock.Now()) {
		t.Errorf("approvals %+v, %v", inbox, err)
	}
	if _, err := x.decide(waiting.ID, sus, yes); err != nil {
		t.Fatal(err)
	}
	if inbox, err = x.Approvals(t.Context(), anna, query.List{}); err != nil || len(inbox.Items) != 0 {
		t.Errorf("an answered call is still in the inbox: %+v, %v", inbox, err)
	}
}

func TestAFilteredPageIsFilledPastWhatDoesNotFit(t *testing.T) {
	x := newFixture(t, nil)
	old, _ := x.waiting(core.KindApproval)
	for range 25 {
		x.worker.Finish(x.start().ID, "done")
	}
	page, err := x.Runs(t.Context(), anna, query.List{Status: "waiting", Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != old.ID {
		t.Errorf("%d runs, next %q, %v", len(page.Items), page.Next, err)
	}
}

func TestAgents(t *testing.T) {
	x := newFixture(t, nil)
	page, err := x.Agents(t.Context(), anna)
	if err != nil || len(page.Items) != 1 || page.Items[0].Name != "desk" {
		t.Errorf("agents %+v, %v", page, err)
	}
	if _, err := x.Agent(t.Context(), anna, "desk"); err != nil {
		t.Error(err)
	}
	_, err = x.Agent(t.Context(), anna, "nobody")
	x.wantCode(err, refusal.CodeAgentNotFound)
}

func TestTheOutputOfARun(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments string
		want      string
	}{
		"an object":   {`{"output":{"refunded":true},"response_state":"done"}`, `{"refunded":true}`},
		"a text":      {`{"output":"all <done>","response_state":"done"}`, `"all <done>"`},
		"a number":    {`{"output":1.50}`, `1.50`},
		"null":        {`{"output":null}`, `null`},
		"none at all": {`{}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			run := x.start()
			x.worker.FinishWith(run.ID, []byte(tt.arguments), core.ResponseAwaitingInput)
			check := func(when string) {
				t.Helper()
				got, err := x.Run(t.Context(), anna, run.ID)
				if err != nil || string(got.Output) != tt.want || got.ResponseState == nil || *got.ResponseState != "awaiting_input" {
					t.Errorf("%s: output %s, %v, %v", when, got.Output, got.ResponseState, err)
				}
			}
			check("in the head")
			if _, err := x.say(run.ThreadID, "", "thanks", ""); err != nil {
				t.Fatal(err)
			}
			check("in the archive")
		})
	}
	t.Run("text", func(t *testing.T) {
		x := newFixture(t, nil)
		run := x.start()
		x.worker.Finish(run.ID, `say "hi"`)
		got, err := x.Run(t.Context(), anna, run.ID)
		if text, ok := got.OutputText(); err != nil || !ok || text != `say "hi"` || string(got.Output) != `"say \"hi\""` {
			t.Errorf("output %s, %v", got.Output, err)
		}
	})
}

func TestAFinishBesideACallThatWaitedIsFoundInItsEarlierTurn(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Ask(run.ID, frontendtest.Call{ID: "fin", Tool: core.FinishTool, Arguments: []byte(`{"output":7}`)})
	x.worker.FinishBy(run.ID, "fin", core.ResponseDone, core.ToolCall{ID: "c2", Name: "refund", Arguments: []byte(`{"output":8}`)})
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || string(got.Output) != "7" {
		t.Errorf("output %s, %v", got.Output, err)
	}
}

// pending is the one call that waits, as its run shows it and as the inbox does.
func (x *fixture) pending(run string) []wire.Pending {
	x.t.Helper()
	got, err := x.Run(x.t.Context(), anna, run)
	if err != nil || len(got.Pending) != 1 {
		x.t.Fatalf("%+v, %v", got, err)
	}
	inbox, err := x.Approvals(x.t.Context(), anna, query.List{})
	if err != nil || len(inbox.Items) != 1 {
		x.t.Fatalf("%+v, %v", inbox, err)
	}
	return []wire.Pending{got.Pending[0], inbox.Items[0].Pending}
}

func TestAPendingCallIsShownAsItWouldRun(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Mode: core.PassDecisionToTool,
		Deadline: 1_800_000_000_000, Shown: []byte(`{"order":"B-02"}`)})
	want := "2027-01-15T08:00:00.000Z"
	for _, p := range x.pending(run.ID) {
		if string(p.Arguments) != `{"order":"B-02"}` || p.Deadline == nil || p.Deadline.Format(wire.TimeFormat) != want || p.ResumeMode != "pass_decision_to_tool" {
			t.Errorf("C128 pending %+v", p)
		}
	}
}

func TestAPendingCallSaysWhatAReaderOfItsArgumentsMayMiss(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	const exact = `{"amount":1e2,"to":{"name":"P\u0430ypal","note":"a\u202eb"},"fair":"Größe"}`
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Arguments: []byte(exact)})
	for _, p := range x.pending(run.ID) {
		var said []string
		for _, w := range p.Warnings {
			said = append(said, w.Path+" "+w.Code)
		}
		if want := []string{"/amount power_of_ten", "/to/name mixed_scripts", "/to/note hidden"}; !slices.Equal(said, want) {
			t.Errorf("warns of %q, want %q", said, want)
		}
		if string(p.Arguments) != exact {
			t.Errorf("the arguments are %s", p.Arguments)
		}
	}
}
