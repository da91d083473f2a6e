package frontend_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// undecided lists the next commit of a thread whose call waits, so long ago. No head names it
// before the call is decided and the run finishes.
func (x feedFixture) undecided(thread string, ago time.Duration) engine.FeedEntry {
	next := x.entry(thread, ago)
	next.Seq, next.W, next.Tie = next.Seq+1, core.NewStamp(2, 1), "next#"+thread
	x.list(next)
	return next
}

// lands commits what was undecided.
func (x feedFixture) lands(run wire.Run) {
	x.t.Helper()
	x.decides(x.t, run.ID, run.ID, "c1", yes, "accepted")
	x.worker.Finish(run.ID, "done")
}

const landed = "decision.recorded run.status"

func TestTheTailHoldsWhatIsUndecided(t *testing.T) {
	for name, list := range map[string]func(feedFixture, wire.Run, wire.Run){
		"older than the lag, with a newer commit": func(x feedFixture, run, other wire.Run) {
			x.undecided(run.ThreadID, time.Minute)
			x.list(x.entry(other.ThreadID, 20*time.Second))
		},
		"older than the lag, the newest": func(x feedFixture, run, other wire.Run) {
			x.list(x.entry(other.ThreadID, 2*time.Minute))
			x.undecided(run.ThreadID, time.Minute)
		},
		"within the lag": func(x feedFixture, run, other wire.Run) {
			x.list(x.entry(other.ThreadID, 20*time.Second))
			x.undecided(run.ThreadID, time.Second)
		},
		"within the lag, before as many as a cursor holds": func(x feedFixture, run, other wire.Run) {
			x.undecided(run.ThreadID, 9*time.Second)
			for i := range 64 {
				more, _ := x.waiting(core.KindApproval)
				x.list(x.entry(more.ThreadID, time.Duration(i)*time.Millisecond))
			}
		},
	} {
		x := newFeedFixture(t)
		run, _ := x.waiting(core.KindApproval)
		other, _ := x.waiting(core.KindClient)
		list(x, run, other)
		tail := x.feed(query.FeedQuery{Tail: true})
		x.lands(run)
		next := x.feed(query.FeedQuery{After: tail.Next})
		if len(tail.Items) != 0 || kinds(next) != landed {
			t.Errorf("%s: %q, then %q", name, kinds(tail), kinds(next))
		}
		x.clock.AfterFunc(time.Hour, func() {})
		next = x.feed(query.FeedQuery{After: next.Next})
		if start, err := x.FeedStart(t.Context(), anna, query.FeedQuery{Tail: true}); len(next.Items) != 0 || len(next.Next) > len(start) || err != nil {
			t.Errorf("%s: once all is settled: %q, %s, %v", name, kinds(next), next.Next, err)
		}
	}
}

// A cursor has room for so many undecided commits, and looks at them for so long.
func TestHowManyUndecidedCommitsACursorHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		runs, shown int
		later       time.Duration
	}{
		"as many as there is room for":   {8, 8, time.Minute},
		"one more: the oldest is lost":   {9, 8, time.Minute},
		"for as long as a commit may be": {1, 1, 14 * time.Minute},
		"and no longer":                  {1, 0, 16 * time.Minute},
	} {
		x := newFeedFixture(t)
		var runs []wire.Run
		for i := range tt.runs {
			run, _ := x.waiting(core.KindApproval)
			x.undecided(run.ThreadID, 20*time.Second-time.Duration(i)*time.Millisecond)
			runs = append(runs, run)
		}
		page := x.feed(query.FeedQuery{})
		x.clock.AfterFunc(tt.later, func() {})
		page = x.feed(query.FeedQuery{After: page.Next})
		for _, run := range runs {
			x.lands(run)
		}
		if page = x.feed(query.FeedQuery{After: page.Next}); len(page.Items) != 2*tt.shown {
			t.Errorf("%s: %d events of %d commits, want those of %d", name, len(page.Items), tt.runs, tt.shown)
		}
	}
}
