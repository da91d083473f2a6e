package enginetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var feedCases = []storeCase{
	{"marked segments are in the feed, others are not", testFeedMarks},
	{"a feed is read in pages, both ways", testFeedPages},
	{"a feed is of one tenant", testFeedOfTenant},
	{"a commit that is sent again is in the feed once", testFeedRepeated},
	{"a refused commit is not in the journal", testFeedRefused},
	{"an invalid place is refused", testFeedBadPlace},
}

// telling is the n-th commit of the activation that owns h, with one event of each type; "done" is
// the end of the run.
func telling(h core.Head, n int, types ...core.EventType) engine.CommitRequest {
	req := next(h, n, "text")
	for i, of := range types {
		e := core.Event{Seq: int64(i + 1), RunID: h.Run, ThreadID: h.Thread, At: 1500, Type: of}
		if of == "done" {
			e.Type, e.Data = core.EventRunStatus, core.Encode(map[string]any{"status": "done"})
		}
		req.Segment.Events = append(req.Segment.Events, e)
	}
	return req
}

// feed reads all of a tenant's feed in pages and returns the entries that are in the journals, as
// thread, number and marks.
func (t *storeTest) feed(tenant string, newest bool, limit int) (shown []string) {
	t.Helper()
	q := engine.FeedQuery{Newest: newest, Limit: limit}
	for {
		page, err := t.store.Feed(t.Context(), tenant, q)
		t.must(err)
		for _, e := range page {
			if q.From != (engine.FeedPlace{}) && (e.Compare(q.From) > 0) == newest {
				t.Fatalf("%+v follows %+v", e.FeedPlace, q.From)
			}
			q.From = e.FeedPlace
			if t.journaled(tenant, e) {
				shown = append(shown, e.Thread+" "+strconv.Itoa(int(e.Seq))+" "+string(e.Marks))
			}
		}
		if len(page) < limit {
			return shown
		}
	}
}

func (t *storeTest) journaled(tenant string, e engine.FeedEntry) bool {
	t.Helper()
	h, err := t.store.Load(t.Context(), tenant, e.Thread)
	t.must(err)
	segments, err := t.store.Segments(t.Context(), tenant, e.Thread, e.Seq, e.Seq)
	t.must(err)
	return h.Seq >= e.Seq && len(segments) == 1 && segments[0].W == e.W
}

func testFeedMarks(t *storeTest) {
	h := t.claim(t.start(thread), "w", 1000)
	h = t.commit(telling(h, 1, core.EventTurnStarted, core.EventRunStatus))
	h = t.commit(telling(h, 2, core.EventCallSuspended, core.EventCallSuspended))
	h = t.commit(telling(h, 3, "done", core.EventCallSuspended, core.EventDecisionRecorded))
	h = t.commit(next(h, 4, "text"))
	h = t.commit(next(h, 5, ""))
	h = t.commit(telling(h, 6, core.EventDecisionRecorded))
	t.commit(telling(h, 7, "done"))
	t.equal("feed", slices.Sorted(slices.Values(t.feed(tenant, false, 10))),
		[]string{"thr_a 2 s", "thr_a 3 sde", "thr_a 5 d", "thr_a 6 e"})
}

func testFeedPages(t *storeTest) {
	heads := []core.Head{t.claim(t.start("thr_b"), "w", 1000), t.claim(t.start("thr_a"), "w", 1000)}
	var committed []string
	for n := range 7 {
		of := n % 2
		heads[of] = t.commit(telling(heads[of], n+1, core.EventCallSuspended))
		committed = append(committed, heads[of].Thread+" "+strconv.Itoa(int(heads[of].Seq))+" s")
	}
	forward := t.feed(tenant, false, 100)
	if t.store.FeedLag() == 0 {
		t.equal("feed, where entries turn up in their order", forward, committed)
	}
	sorted := slices.Sorted(slices.Values(forward))
	t.equal("feed", sorted, slices.Sorted(slices.Values(committed)))
	back := slices.Clone(forward)
	slices.Reverse(back)
	for _, limit := range []int{1, 2, 3, 7, 8} {
		t.equal("feed in pages", t.feed(tenant, false, limit), forward)
		t.equal("feed in pages, newest first", t.feed(tenant, true, limit), back)
	}
}

func testFeedOfTenant(t *storeTest) {
	t.commit(telling(t.claim(t.start(thread), "w", 1000), 1, "done"))
	other := created(thread)
	other.Tenant = tenant + "#x"
	t.commit(telling(t.claim(t.startHead(other), "w", 1000), 1, core.EventCallSuspended))
	t.equal("feed", t.feed(tenant, false, 10), []string{thread + " 1 e"})
	t.equal("another's feed", t.feed(other.Tenant, true, 10), []string{thread + " 1 s"})
	t.equal("feed of a tenant without runs", t.feed("acm", false, 10), []string(nil))
}

func testFeedRepeated(t *storeTest) {
	req := telling(t.claim(t.start(thread), "w", 1000), 1, core.EventDecisionRecorded)
	t.commit(req)
	t.commit(req)
	t.equal("feed", t.feed(tenant, false, 10), []string{thread + " 1 d"})
}

func testFeedRefused(t *storeTest) {
	h := t.claim(t.start(thread), "w", 1000)
	unseen := telling(h, 1, core.EventDecisionRecorded)
	unseen.AllSeen, unseen.Seen = true, h.Sigs+1
	_, err := t.store.Commit(t.Context(), unseen)
	t.wantErr(err, engine.ErrSignals)
	t.equal("feed after a refused commit", t.feed(tenant, false, 10), []string(nil))
	h = t.commit(telling(h, 2, core.EventCallSuspended))
	stale := telling(h, 3, "done")
	t.claim(t.load(h), "w2", 5000)
	_, err = t.store.Commit(t.Context(), stale)
	t.wantErr(err, engine.ErrFenced)
	t.equal("feed after a stale owner's commit", t.feed(tenant, true, 10), []string{thread + " 1 s"})
}

func testFeedBadPlace(t *storeTest) {
	for _, place := range []engine.FeedPlace{{At: -1}, {At: 1e16}, {At: 5, Tie: strings.Repeat("9", 2000)}} {
		_, err := t.store.Feed(t.Context(), tenant, engine.FeedQuery{From: place, Limit: 5})
		t.wantErr(err, engine.ErrRefused)
	}
}
