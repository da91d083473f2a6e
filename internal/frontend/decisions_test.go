package frontend_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// history are all pages of decisions, as who said what about which run.
func (x *fixture) history(q query.DecisionQuery) (said []string) {
	x.t.Helper()
	for {
		page, err := x.Decisions(x.t.Context(), anna, q)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, d := range page.Items {
			said = append(said, fmt.Sprint(d.By, " ", d.Action, " ", d.RunID))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return said
		}
	}
}

func TestTheHistoryOfDecisions(t *testing.T) {
	x := newFixture(t, nil)
	began := x.clock.Now()
	var runs []wire.Run
	var want []string
	for i, by := range []string{"anna", "ben", "anna", "cleo"} {
		run, sus := x.waiting(core.KindApproval)
		runs = append(runs, run)
		action := []string{"resume", "cancel"}[i%2]
		if _, err := x.Decide(t.Context(), frontend.Caller{Tenant: anna.Tenant, By: by, Via: "api"}, run.ID, wire.Decision{Target: sus, Action: action}); err != nil {
			t.Fatal(err)
		}
		x.clock.AfterFunc(time.Minute, func() {})
		x.worker.Finish(run.ID, "done")
		want = slices.Insert(want, 0, by+" "+action+" "+run.ID)
	}
	for _, size := range []int{1, 3, 50} {
		if got := x.history(query.DecisionQuery{Limit: size}); !slices.Equal(got, want) {
			t.Errorf("%d a page: %q", size, got)
		}
	}
	for _, c := range []struct {
		q    query.DecisionQuery
		want []string
	}{
		{query.DecisionQuery{By: "anna"}, []string{want[1], want[3]}},
		{query.DecisionQuery{Action: "cancel"}, []string{want[0], want[2]}},
		{query.DecisionQuery{Via: "link"}, nil},
		{query.DecisionQuery{Via: "api", Agent: "desk", By: "ben"}, []string{want[2]}},
		{query.DecisionQuery{Agent: "another"}, nil},
		{query.DecisionQuery{CreatedAfter: began.Add(2 * time.Minute)}, want[:3]},
		{query.DecisionQuery{CreatedBefore: began.Add(3 * time.Minute)}, want[2:]},
		{query.DecisionQuery{CreatedAfter: began.Add(2 * time.Minute), CreatedBefore: began.Add(3 * time.Minute), Limit: 1}, want[2:3]},
	} {
		if got := x.history(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	page, err := x.Decisions(t.Context(), anna, query.DecisionQuery{Limit: 1})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if d := page.Items[0]; d.Tool != "refund" || d.Kind != "approval" || d.Agent != "desk" || d.ThreadID != runs[3].ThreadID || !d.Applied || d.Suspension == "" || d.Seq == 0 ||
		!d.At.Equal(began.Add(4*time.Minute)) || !d.UpdatedAt.Equal(began.Add(3*time.Minute)) {
		t.Errorf("%+v", d)
	}
}

func TestTheHistoryIsOfItsTenant(t *testing.T) {
	x := newFixture(t, nil)
	for range 2 {
		run, sus := x.waiting(core.KindApproval)
		x.decides(t, "one", run.ID, sus, yes, "accepted")
		x.worker.Drain(run.ID)
	}
	first, err := x.Decisions(t.Context(), anna, query.DecisionQuery{Limit: 1})
	if err != nil || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	other := frontend.Caller{Tenant: "other"}
	page, err := x.Decisions(t.Context(), other, query.DecisionQuery{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	_, err = x.Decisions(t.Context(), other, query.DecisionQuery{Cursor: first.Next})
	x.wantCode(err, refusal.CodeBadCursor)
	_, err = x.Decisions(t.Context(), anna, query.DecisionQuery{Cursor: x.feed(query.FeedQuery{}).Next})
	x.wantCode(err, refusal.CodeBadCursor)
	_, err = x.Decisions(t.Context(), anna, query.DecisionQuery{Cursor: first.Next, By: "ben"})
	x.wantCode(err, refusal.CodeBadCursor) // of other filters
	_, err = x.Decisions(t.Context(), anna, query.DecisionQuery{Action: "maybe"})
	x.wantCode(err, refusal.CodeInvalid)
}

// A decision that no head names is no decision.
func TestATornDecisionIsNotInTheHistory(t *testing.T) {
	x := newFeedFixture(t)
	run, sus := x.waiting(core.KindApproval)
	torn := x.entry(run.ThreadID, 0)
	torn.Seq, torn.W = torn.Seq+1, torn.W+1
	x.list(torn)
	if got := x.history(query.DecisionQuery{}); len(got) != 0 {
		t.Errorf("before its head: %q", got)
	}
	x.decides(t, "it", run.ID, sus, yes, "accepted")
	x.worker.Drain(run.ID)
	if got := x.history(query.DecisionQuery{}); len(got) != 0 {
		t.Errorf("beside what the head names: %q", got)
	}
	x.list(x.entry(run.ThreadID, 0))
	if got := x.history(query.DecisionQuery{}); len(got) != 1 {
		t.Errorf("what the head names: %q", got)
	}
}

// A run that cannot be read hides no other, and is not hidden either.
func TestAHistoryWithARunThatCannotBeRead(t *testing.T) {
	b := &poisoned{heads: errors.Join(engine.ErrUnavailable, engine.ErrUnreadable)}
	x := newFixture(t, func(s frontend.Store) frontend.Store { b.Store = s; return b })
	var runs []wire.Run
	for range 3 {
		run, sus := x.waiting(core.KindApproval)
		x.decides(t, "it", run.ID, sus, yes, "accepted")
		x.worker.Drain(run.ID)
		runs = append(runs, run)
	}
	b.thread = runs[1].ThreadID
	page, err := x.Decisions(t.Context(), anna, query.DecisionQuery{})
	if err != nil || len(page.Items) != 2 || page.Unreadable != 1 {
		t.Errorf("%d decisions, %d unreadable, %v", len(page.Items), page.Unreadable, err)
	}
	if page, err = x.Decisions(t.Context(), anna, query.DecisionQuery{Agent: "desk"}); err != nil || len(page.Items) != 2 || page.Unreadable != 1 {
		t.Errorf("of an agent: %d decisions, %d unreadable, %v", len(page.Items), page.Unreadable, err)
	}
	shown := x.feed(query.FeedQuery{})
	if len(shown.Items) != 4 {
		t.Errorf("shown: %s", kinds(shown))
	}
	b.thread = ""
	if rest := x.feed(query.FeedQuery{After: shown.Next}); kinds(rest) != "call.suspended decision.recorded" {
		t.Errorf("shown once it can be read: %s", kinds(rest))
	}
}

// A follower in a process that commits is woken by the feed of its tenant.
func TestAFollowerWatchesTheFeedOfItsTenant(t *testing.T) {
	watched, changed := "", make(chan struct{}, 1)
	changed <- struct{}{}
	x := newFixtureWith(t, func(o *frontend.Options) {
		o.Watch = func(tenant, thread string) (<-chan struct{}, func()) {
			watched = tenant + "/" + thread
			return changed, func() { watched += " left" }
		}
	})
	x.feed(query.FeedQuery{Wait: time.Second})
	if watched != "default/ left" {
		t.Errorf("watched %q", watched)
	}
}
