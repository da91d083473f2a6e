package frontend_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

var refundCall = frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}

// lateFeed is a store whose feed is as a test lists it: late, out of order, and with segments that
// no head names.
type lateFeed struct {
	frontend.Store
	lag     time.Duration
	entries []engine.FeedEntry
	torn    []core.Segment // what is stored, and no head names
}

func (s *lateFeed) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	found, err := s.Store.Segments(ctx, tenant, thread, from, to)
	if len(found) == 0 {
		found = s.torn
	}
	return found, err
}

func (s *lateFeed) FeedLag() time.Duration { return s.lag }

func (s *lateFeed) Feed(_ context.Context, _ string, q engine.FeedQuery) (found []engine.FeedEntry, err error) {
	all := slices.Clone(s.entries)
	slices.SortFunc(all, func(a, b engine.FeedEntry) int { return a.Compare(b.FeedPlace) })
	if q.Newest {
		slices.Reverse(all)
	}
	for _, e := range all {
		side := e.Compare(q.From)
		if q.Newest {
			if side = -side; q.From == (engine.FeedPlace{}) {
				side = 1
			}
		}
		if side > 0 && len(found) < q.Limit {
			found = append(found, e)
		}
	}
	return found, nil
}

// feedFixture is a frontend over a store with a late feed.
type feedFixture struct {
	*fixture
	late *lateFeed
}

func newFeedFixture(t *testing.T) feedFixture {
	late := &lateFeed{lag: 10 * time.Second}
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		late.Store = s
		return late
	})
	return feedFixture{x, late}
}

// entry is that of the newest segment of a thread, so long ago.
func (x feedFixture) entry(thread string, ago time.Duration) engine.FeedEntry {
	h := x.head(thread)
	at := x.clock.Now().Add(-ago).UnixMilli()
	return engine.FeedEntry{FeedPlace: engine.FeedPlace{At: at, Tie: thread + "#" + fmt.Sprint(h.Seq)}, Thread: thread, Seq: h.Seq, W: h.Seg, Marks: "sde"}
}

func (x feedFixture) list(e engine.FeedEntry) { x.late.entries = append(x.late.entries, e) }

func (x *fixture) feed(q query.FeedQuery) wire.FeedPage {
	x.t.Helper()
	page, err := x.Feed(x.t.Context(), anna, q)
	if err != nil {
		x.t.Fatal(err)
	}
	return page
}

// kinds are the types of events, in short.
func kinds(page wire.FeedPage) string {
	var all []string
	for _, e := range page.Items {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

func TestTheFeedTellsWhatWaitsIsDecidedAndEnds(t *testing.T) {
	x := newFixture(t, nil)
	first, _ := x.waiting(core.KindApproval)
	second, _ := x.waiting(core.KindClient)
	x.decides(t, "the first", first.ID, "c1", yes, "accepted")
	x.worker.Finish(first.ID, "one")
	want := []string{"call.suspended " + first.ID, "call.suspended " + second.ID, "decision.recorded " + first.ID, "run.status " + first.ID}
	for _, size := range []int{1, 2, 100} {
		var got []string
		after := ""
		for {
			page := x.feed(query.FeedQuery{After: after, Limit: size})
			for _, e := range page.Items {
				got = append(got, e.Type+" "+e.RunID)
			}
			if after = page.Next; len(page.Items) == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d a page: %q", size, got)
		}
	}
	if begin := x.feed(query.FeedQuery{Limit: 2}); begin.Counts != nil {
		t.Errorf("a page with more to come counts %+v", begin.Counts)
	}
	page := x.feed(query.FeedQuery{Limit: 4})
	if again := x.feed(query.FeedQuery{After: page.Next}); again.Counts != nil {
		t.Errorf("a page without news counts %+v", again.Counts)
	}
	if c := page.Counts; c == nil || c.Waiting != 1 || c.Kinds["client"] != 1 || c.AtLeast {
		t.Errorf("counts: %+v", c)
	}
	if ends := x.feed(query.FeedQuery{Marks: core.FeedEnds}); kinds(ends) != "run.status" {
		t.Errorf("ends: %s", kinds(ends))
	}
	if none := x.feed(query.FeedQuery{Agent: "another"}); len(none.Items) != 0 || none.Counts.Waiting != 0 {
		t.Errorf("another agent's: %+v", none)
	}
	tail := x.feed(query.FeedQuery{Tail: true})
	x.decides(t, "the second", second.ID, "c1", wire.Decision{Action: "cancel"}, "accepted")
	x.worker.Drain(second.ID)
	if got := kinds(x.feed(query.FeedQuery{After: tail.Next})); len(tail.Items) != 0 || got != "decision.recorded" {
		t.Errorf("behind the tail: %s", got)
	}
}

// A run that cannot be read counts as one call, and the numbers say that they may be higher.
func TestCountsOfARunThatCannotBeRead(t *testing.T) {
	p := &poisoned{bare: true}
	x := newFixture(t, func(s frontend.Store) frontend.Store { p.Store = s; return p })
	x.waiting(core.KindApproval)
	run, _ := x.waiting(core.KindClient)
	p.thread = run.ThreadID
	counts, err := x.Counts(t.Context(), anna, "")
	if err != nil || !counts.AtLeast || counts.Waiting != 2 || len(counts.Kinds) != 1 || counts.Kinds["approval"] != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
}

func TestAFeedIsOfItsTenant(t *testing.T) {
	x := newFixture(t, nil)
	x.waiting(core.KindApproval)
	other := frontend.Caller{Tenant: "other"}
	page, err := x.Feed(t.Context(), other, query.FeedQuery{})
	if err != nil || len(page.Items) != 0 || page.Counts.Waiting != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	_, err = x.Feed(t.Context(), other, query.FeedQuery{After: x.feed(query.FeedQuery{}).Next})
	x.wantCode(err, refusal.CodeBadCursor)
	for _, cursor := range []string{"?", "bm9wZQ", "e30", strings.Repeat("A", 5000)} {
		_, err = x.Feed(t.Context(), anna, query.FeedQuery{After: cursor})
		x.wantCode(err, refusal.CodeBadCursor)
	}
}

// An entry that appears after later ones is shown, as long as it appears within the lag, and once.
func TestAFollowerMissesNothingThatComesLate(t *testing.T) {
	x := newFeedFixture(t)
	early, _ := x.waiting(core.KindApproval)
	earlier := x.entry(early.ThreadID, 9*time.Second)
	later, _ := x.waiting(core.KindClient)
	x.list(x.entry(later.ThreadID, 0))
	page := x.feed(query.FeedQuery{})
	if len(page.Items) != 1 || page.Items[0].RunID != later.ID {
		t.Fatalf("at first: %+v", page.Items)
	}
	if again := x.feed(query.FeedQuery{After: page.Items[0].Cursor}); len(again.Items) != 0 {
		t.Errorf("again: %s", kinds(again))
	}
	x.list(earlier)
	page = x.feed(query.FeedQuery{After: page.Next})
	if len(page.Items) != 1 || page.Items[0].RunID != early.ID {
		t.Fatalf("what came late: %+v", page.Items)
	}
	x.clock.AfterFunc(time.Minute, func() {})
	page = x.feed(query.FeedQuery{After: page.Next})
	if len(page.Items) != 0 || len(page.Next) > 200 {
		t.Errorf("once all is settled: %s, %s", kinds(page), page.Next)
	}
}

func TestTheTailShowsWhatTurnsUpWithinTheLag(t *testing.T) {
	x := newFeedFixture(t)
	old, _ := x.waiting(core.KindApproval)
	x.list(x.entry(old.ThreadID, time.Second))
	late, _ := x.waiting(core.KindClient)
	x.entry(late.ThreadID, 2*time.Second)
	page := x.feed(query.FeedQuery{Tail: true})
	x.list(x.entry(late.ThreadID, 2*time.Second))
	next := x.feed(query.FeedQuery{After: page.Next})
	if len(page.Items) != 0 || len(next.Items) != 1 || next.Items[0].RunID != late.ID {
		t.Errorf("%s, then %+v", kinds(page), next.Items)
	}
}

// A segment that is listed before its head names it is shown once a head does, however late, and
// one that none ever names is never shown.
func TestOnlyWhatIsCommittedIsInTheFeed(t *testing.T) {
	x := newFeedFixture(t)
	run := x.start()
	torn := x.entry(run.ThreadID, 0)
	torn.Seq, torn.W = torn.Seq+1, torn.W+7
	torn.Tie += "torn"
	x.list(torn)
	x.late.torn = []core.Segment{{Seq: torn.Seq, W: torn.W, Events: []core.Event{{Seq: 2, RunID: run.ID, ThreadID: run.ThreadID, Type: core.EventCallSuspended}}}}
	page := x.feed(query.FeedQuery{})
	if len(page.Items) != 0 {
		t.Fatalf("before a head names it: %s", kinds(page))
	}
	x.clock.AfterFunc(time.Minute, func() {}) // beyond the lag, and still not decided
	page = x.feed(query.FeedQuery{After: page.Next})
	x.worker.Suspend(run.ID, refundCall)
	named := x.entry(run.ThreadID, time.Minute)
	if page = x.feed(query.FeedQuery{After: page.Next}); len(page.Items) != 0 {
		t.Fatalf("an orphan is shown: %s", kinds(page))
	}
	x.list(x.entry(run.ThreadID, 0))
	if page = x.feed(query.FeedQuery{After: page.Next}); kinds(page) != "call.suspended" {
		t.Errorf("what the head names: %s", kinds(page))
	}
	if all := x.feed(query.FeedQuery{}); kinds(all) != "call.suspended" || named.W == torn.W {
		t.Errorf("all: %s", kinds(all))
	}
}

func TestACommitThatTakesLongIsShown(t *testing.T) {
	x := newFeedFixture(t)
	run, _ := x.waiting(core.KindApproval)
	next := x.undecided(run.ThreadID, 0)
	page := x.feed(query.FeedQuery{})
	x.clock.AfterFunc(time.Minute, func() {})
	page = x.feed(query.FeedQuery{After: page.Next})
	other, _ := x.waiting(core.KindClient)
	x.list(x.entry(other.ThreadID, 20*time.Second))
	page = x.feed(query.FeedQuery{After: page.Next})
	if len(page.Items) != 1 || page.Items[0].RunID != other.ID {
		t.Fatalf("others wait for it: %+v", page.Items)
	}
	x.decides(t, "the first", run.ID, "c1", yes, "accepted")
	x.worker.Finish(run.ID, "done") // what the head names now is the entry
	if h := x.head(run.ThreadID); h.Seg != next.W || h.Seq != next.Seq {
		t.Fatalf("the head names %d, %d", h.Seq, h.Seg)
	}
	page = x.feed(query.FeedQuery{After: page.Next})
	if kinds(page) != "decision.recorded run.status" {
		t.Errorf("committed at last: %+v", page.Items)
	}
	if again := x.feed(query.FeedQuery{After: page.Next}); len(again.Items) != 0 {
		t.Errorf("again: %s", kinds(again))
	}
}

// More commits within the lag than a cursor holds: each is shown once, some of them later.
func TestAFeedFasterThanItsLag(t *testing.T) {
	x := newFeedFixture(t)
	run, sus := x.waiting(core.KindApproval)
	const events = 1 + 2*200
	for i := range events / 2 {
		x.list(x.entry(run.ThreadID, time.Duration(i)*10*time.Millisecond))
		if a, err := x.decide(run.ID, sus, yes); err != nil {
			t.Fatal(a, err)
		}
		sus = x.worker.Resuspend(run.ID, refundCall)
	}
	x.list(x.entry(run.ThreadID, 0))
	seen := map[int64]int{}
	after := ""
	for round := 0; len(seen) < events && round < 100; round++ {
		page := x.feed(query.FeedQuery{After: after, Limit: 20})
		for _, e := range page.Items {
			if seen[e.Seq]++; seen[e.Seq] > 1 {
				t.Fatalf("event %d is shown twice", e.Seq)
			}
		}
		if after = page.Next; len(after) > 2000 {
			t.Fatalf("a cursor of %d bytes", len(after))
		}
		if len(page.Items) == 0 {
			x.clock.AfterFunc(time.Second, func() {})
		}
	}
	if len(seen) != events {
		t.Errorf("%d of %d are shown", len(seen), events)
	}
}

func TestAFollowerOfTheFeedIsWoken(t *testing.T) {
	x := newFixture(t, nil)
	tail := x.feed(query.FeedQuery{Tail: true})
	run := x.start()
	once := false
	x.clock.Waiting = func() {
		if !once {
			once = true
			x.worker.Suspend(run.ID, refundCall)
		}
	}
	page := x.feed(query.FeedQuery{After: tail.Next, Wait: 20 * time.Second})
	if kinds(page) != "call.suspended" || page.Counts == nil || page.Counts.Kinds["approval"] != 1 {
		t.Errorf("%s, %+v", kinds(page), page.Counts)
	}
}
