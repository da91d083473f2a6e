package frontend_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// end is the cursor behind all events of a thread.
func (x *fixture) end(thread string) string {
	x.t.Helper()
	found, err := x.Thread(x.t.Context(), anna, thread)
	if err != nil {
		x.t.Fatal(err)
	}
	return found.Cursor
}

func TestTheEventsOfAThreadAreThoseOfAllItsRuns(t *testing.T) {
	x := newFixture(t, nil)
	first, _ := x.waiting(core.KindApproval)
	x.decides(t, "the first", first.ID, "c1", yes, "accepted")
	x.worker.Finish(first.ID, "one")
	s, err := x.Message(t.Context(), anna, first.ThreadID, "", wire.MessageRequest{Input: json.RawMessage(`"and now?"`)})
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(s.Run.ID, "two")
	for _, size := range []int{1, 100} {
		runs, seq := map[string]int{}, int64(0)
		for after := ""; ; {
			page, err := x.ThreadEvents(t.Context(), anna, first.ThreadID, query.EventQuery{After: after, Limit: size})
			if err != nil {
				t.Fatal(err)
			}
			if page.Done || page.Waiting != (page.Next == x.end(first.ThreadID)) {
				t.Errorf("a thread is %+v", page)
			}
			for _, e := range page.Items {
				if seq++; e.Seq != seq {
					t.Errorf("event %d is %+v", seq, e)
				}
				runs[e.RunID]++
			}
			if after = page.Next; len(page.Items) == 0 {
				break
			}
		}
		if len(runs) != 2 || runs[first.ID] == 0 || runs[s.Run.ID] == 0 {
			t.Errorf("%d a page: events of %v", size, runs)
		}
	}
	tail, err := x.ThreadEvents(t.Context(), anna, first.ThreadID, query.EventQuery{Tail: true})
	if err != nil || len(tail.Items) != 0 {
		t.Errorf("%+v, %v", tail, err)
	}
	_, err = x.ThreadEvents(t.Context(), anna, "thr_nobody", query.EventQuery{})
	x.wantCode(err, refusal.CodeThreadNotFound)
	_, err = x.ThreadEvents(t.Context(), frontend.Caller{Tenant: "another"}, first.ThreadID, query.EventQuery{})
	x.wantCode(err, refusal.CodeThreadNotFound)
}
