package frontend_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func TestTheCallsOfARunOnPages(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	var calls []frontendtest.Call
	var want []string
	for i := range 7 {
		id := fmt.Sprintf("c%d", i)
		calls = append(calls, frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval})
		want = append(want, id)
	}
	x.worker.Suspend(run.ID, calls...)
	for _, size := range []int{1, 3, 7, 50} {
		var got []string
		for cursor := ""; ; {
			page, err := x.Calls(t.Context(), anna, run.ID, query.List{Limit: size, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range page.Items {
				got = append(got, call.CallID)
				if call.Status != "suspended" || call.ResumeToken == "" || call.Kind != "approval" || call.Attempts != 0 {
					t.Errorf("%+v", call)
				}
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d a page: %v", size, got)
		}
	}
}

func TestACallFromItsWaitToItsDecision(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	x.decides(t, "with other arguments", run.ID, sus, wire.Decision{Action: "resume", Arguments: []byte(`{"amount":7}`)}, "accepted")
	x.worker.Drain(run.ID)
	call, err := x.Call(t.Context(), anna, run.ID, "c1")
	if err != nil {
		t.Fatal(err)
	}
	if call.Resume == nil || call.Resume.Action != "resume" || string(call.RanWith) != `{"amount":7}` || call.ResumeToken != sus || call.Status == "suspended" {
		t.Errorf("%+v", call)
	}
	_, err = x.Call(t.Context(), anna, run.ID, "c2")
	x.wantCode(err, refusal.CodeCallNotFound)
	_, err = x.Call(t.Context(), frontend.Caller{Tenant: "another"}, run.ID, "c1")
	x.wantCode(err, refusal.CodeRunNotFound)
	_, err = x.Calls(t.Context(), anna, run.ID, query.List{Cursor: "no"})
	x.wantCode(err, refusal.CodeBadCursor)
}

func TestASuspensionIsFoundByItsIDAlone(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	waits, _, err := x.Suspension(t.Context(), anna, sus)
	if err != nil || waits == nil || waits.RunID != run.ID || waits.Suspension.ID != sus {
		t.Fatalf("%+v, %v", waits, err)
	}
	_, _, err = x.Suspension(t.Context(), frontend.Caller{Tenant: "another"}, sus)
	x.wantCode(err, refusal.CodeCallNotFound)
	answer, err := x.DecideSuspension(t.Context(), anna, sus, yes)
	x.want(answer, err, "accepted")
	x.worker.Drain(run.ID)
	x.worker.Finish(run.ID, "refunded")
	if _, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"and now?"`)}); err != nil {
		t.Fatal(err)
	}
	_, became, err := x.Suspension(t.Context(), anna, sus) // another run has the thread
	if err != nil || became == nil || became.RunID != run.ID || became.State != query.OutcomeAnswered {
		t.Errorf("%+v, %v", became, err)
	}
	answer, err = x.DecideSuspension(t.Context(), anna, sus, yes)
	x.want(answer, err, "same")
	for _, id := range []string{"sus_2_abc", "sus_2_abc_nobody", "sus_99_abc_" + run.ThreadID[4:], sus + "x", "c1", "", "sus__x_y"} {
		_, _, err := x.Suspension(t.Context(), anna, id)
		x.wantCode(err, refusal.CodeCallNotFound)
	}
}
