package frontend_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// paged reads a conversation in an order, some messages at a time.
func (x *fixture) paged(thread, order string, limit int) (all []wire.Message, pages int) {
	x.t.Helper()
	for cursor := ""; ; {
		page, err := x.Messages(x.t.Context(), anna, thread, query.List{Order: order, Limit: limit, Cursor: cursor})
		if err != nil {
			x.t.Fatal(err)
		}
		all, pages = append(all, page.Items...), pages+1
		if cursor = page.Next; cursor == "" {
			return all, pages
		}
	}
}

// talk is a conversation of some turns, each in a run of its own.
func (x *fixture) talk(turns int) (thread string) {
	x.t.Helper()
	run := x.start()
	for i := range turns {
		x.worker.Finish(run.ID, fmt.Sprint("answer ", i))
		next, err := x.say(run.ThreadID, fmt.Sprint(run.ThreadID, i), fmt.Sprint("question ", i), "")
		if err != nil {
			x.t.Fatal(err)
		}
		run = next.Run
	}
	x.worker.Finish(run.ID, "the last answer")
	return run.ThreadID
}

func TestAConversationIsReadFromEitherEnd(t *testing.T) {
	x := newFixture(t, nil)
	thread := x.talk(9)
	want, _ := x.paged(thread, "", 1000)
	slices.Reverse(want)
	if len(want) != 20 || want[0].Text != "the last answer" {
		t.Fatalf("%d messages, the last %+v", len(want), want[0])
	}
	for _, limit := range []int{1, 2, 3, 7, 19, 20, 21, 1000} {
		got, _ := x.paged(thread, query.OrderNewest, limit)
		if !slices.EqualFunc(got, want, func(a, b wire.Message) bool { return a.ID == b.ID && a.Text == b.Text }) {
			t.Errorf("%d at a time: %d messages, or in another order", limit, len(got))
		}
	}
}

// A place stays where it is while the conversation grows, and belongs to its order and its thread.
func TestAPlaceFromTheNewestStays(t *testing.T) {
	x := newFixture(t, nil)
	thread, other := x.talk(3), x.talk(1)
	page, err := x.Messages(t.Context(), anna, thread, query.List{Order: query.OrderNewest, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	more, err := x.say(thread, "later", "one more", "")
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(more.Run.ID, "and its answer")
	rest, err := x.Messages(t.Context(), anna, thread, query.List{Order: query.OrderNewest, Limit: 2, Cursor: page.Next})
	if err != nil || len(rest.Items) != 2 || rest.Items[0].Text != "answer 2" || rest.Items[1].Text != "question 1" {
		t.Errorf("%+v, %v", rest.Items, err)
	}
	oldest, err := x.Messages(t.Context(), anna, thread, query.List{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]query.List{
		"the other order":  {Order: query.OrderNewest, Cursor: oldest.Next},
		"of the newest":    {Cursor: page.Next},
		"none":             {Order: query.OrderNewest, Cursor: "x"},
		"below everything": {Order: query.OrderNewest, Cursor: "eyJkb3duIjowLCJvZiI6IiJ9"},
	} {
		_, err := x.Messages(t.Context(), anna, thread, q)
		x.wantCode(err, refusal.CodeBadCursor)
		if err == nil {
			t.Error(name)
		}
	}
	_, err = x.Messages(t.Context(), anna, other, query.List{Order: query.OrderNewest, Cursor: page.Next})
	x.wantCode(err, refusal.CodeBadCursor)
	_, err = x.Messages(t.Context(), anna, thread, query.List{Order: "newest"})
	x.wantCode(err, refusal.CodeInvalid)
}

func TestApprovalsAreListedByTool(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "c3", Tool: "pay", Kind: core.KindInput})
	for _, tt := range []struct {
		q    query.List
		want []string
	}{
		{query.List{Tool: "pay"}, []string{"c1", "c3"}}, {query.List{Tool: "refund"}, []string{"c2"}}, {query.List{Tool: "pay", Kind: "input"}, []string{"c3"}},
		{query.List{Tool: "none"}, nil}, {query.List{Tool: "pay", Agent: "other"}, nil},
	} {
		page, err := x.Approvals(t.Context(), anna, tt.q)
		var got []string
		for _, a := range page.Items {
			got = append(got, a.CallID)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, %v", tt.q, got, err)
		}
	}
}
