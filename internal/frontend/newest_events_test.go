package frontend_test

import (
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// eventsOf reads the events of a run or a thread in an order, some at a time.
func (x *fixture) eventsOf(id, order string, limit int) (all []wire.Event, last wire.EventPage) {
	x.t.Helper()
	read := x.Events
	if len(id) > 4 && id[:4] == "thr_" {
		read = x.ThreadEvents
	}
	for after := ""; ; {
		page, err := read(x.t.Context(), anna, id, query.EventQuery{Order: order, Limit: limit, After: after})
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, page.Items...)
		if after = page.Next; page.Done || len(page.Items) == 0 {
			return all, page
		}
	}
}

func sameEvent(a, b wire.Event) bool {
	return a.Seq == b.Seq && a.Type == b.Type && a.Cursor == b.Cursor && string(a.Data) == string(b.Data)
}

// The events of a run in the middle of its conversation, and those of all of it, are the same in
// both orders, in pages of every size.
func TestEventsAreReadFromEitherEnd(t *testing.T) {
	x := newFixture(t, nil)
	thread := x.talk(4)
	runs, err := x.ThreadRuns(t.Context(), anna, thread, query.List{})
	if err != nil || len(runs.Items) < 3 {
		t.Fatalf("%d runs, %v", len(runs.Items), err)
	}
	works := x.start()
	x.worker.Works(works.ID, frontendtest.Answer{Text: "I look.", Calls: []frontendtest.Ran{{ID: "c1", Tool: "find", Arguments: []byte("{}")}, {ID: "c2", Tool: "find", Arguments: []byte("{}")}}})
	x.worker.Finish(works.ID, "done")
	for _, id := range []string{thread, works.ID, runs.Items[0].ID, runs.Items[2].ID, runs.Items[len(runs.Items)-1].ID} {
		want, _ := x.eventsOf(id, "", 1000)
		if slices.Reverse(want); len(want) < 5 && (id == thread || id == works.ID) {
			t.Fatalf("%s has %d events", id, len(want))
		}
		for _, limit := range []int{1, 2, 3, len(want) - 1, len(want), 1000} {
			got, last := x.eventsOf(id, query.OrderNewest, limit)
			if !slices.EqualFunc(got, want, sameEvent) || !last.Done {
				t.Errorf("%s, %d at a time: %d events of %d, or in another order; done %v", id, limit, len(got), len(want), last.Done)
			}
		}
	}
}

// A place says the same in both orders, and a reader may turn round at it: what it has read
// backwards, it reads forwards again.
func TestAReaderOfEventsTurnsRound(t *testing.T) {
	x := newFixture(t, nil)
	thread := x.talk(3)
	all, _ := x.eventsOf(thread, "", 1000)
	for _, n := range []int{1, 3, 4, len(all)} {
		back, err := x.ThreadEvents(t.Context(), anna, thread, query.EventQuery{Order: query.OrderNewest, Limit: n})
		if err != nil || len(back.Items) != n {
			t.Fatalf("%d events, %v", len(back.Items), err)
		}
		forth, err := x.ThreadEvents(t.Context(), anna, thread, query.EventQuery{After: back.Next, Limit: 1000})
		if err != nil || !slices.EqualFunc(forth.Items, all[len(all)-n:], sameEvent) {
			t.Errorf("%d back: %d forth, %v", n, len(forth.Items), err)
		}
	}
	for i := range all {
		upTo, err := x.ThreadEvents(t.Context(), anna, thread, query.EventQuery{Order: query.OrderNewest, After: all[i].Cursor, Limit: 1000})
		slices.Reverse(upTo.Items)
		if err != nil || !slices.EqualFunc(upTo.Items, all[:i+1], sameEvent) {
			t.Errorf("from event %d: %d events, %v", i, len(upTo.Items), err)
		}
	}
}

func TestPlacesOfOtherEventsAreRefused(t *testing.T) {
	x := newFixture(t, nil)
	thread, other := x.talk(1), x.talk(1)
	page, err := x.ThreadEvents(t.Context(), anna, other, query.EventQuery{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []query.EventQuery{{Order: query.OrderNewest, After: page.Next}, {Order: query.OrderNewest, After: "x"}} {
		_, err = x.ThreadEvents(t.Context(), anna, thread, q)
		x.wantCode(err, refusal.CodeBadCursor)
	}
	_, err = x.ThreadEvents(t.Context(), anna, thread, query.EventQuery{Order: "newest"})
	x.wantCode(err, refusal.CodeInvalid)
}
