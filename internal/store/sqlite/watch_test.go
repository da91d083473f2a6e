package sqlite_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

func TestWatchersAreToldOfTheirThreadOnce(t *testing.T) {
	db := open(t, newFile(t), options(t, enginetest.AtMilli(1000)))
	start := func(tenant, thread string) {
		t.Helper()
		if _, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Identity: core.Identity{Tenant: tenant, Thread: thread, Run: "run_x_0", Schema: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(changed <-chan struct{}) bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	mine, stop := db.Watch("a", "thr_1")
	other, stopOther := db.Watch("a", "thr_2")
	defer stopOther()
	start("b", "thr_1")
	if told(mine) {
		t.Error("another tenant's thread was taken for it")
	}
	start("a", "thr_1")
	if !told(mine) || told(mine) || told(other) {
		t.Error("not told once, or somebody else was")
	}
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_1", Run: "run_x_0", Schema: 1}}}); err == nil || told(mine) {
		t.Error("told of a write that was refused", err)
	}
	stop()
	start("a", "thr_3")
}

func TestWatchersOfATenantAreToldOfItsFeed(t *testing.T) {
	db := open(t, newFile(t), options(t, enginetest.AtMilli(1000)))
	feed, stop := db.Watch("a", "")
	defer stop()
	other, stopOther := db.Watch("b", "")
	defer stopOther()
	w, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_1", Run: "run_x_0", Schema: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Claim(t.Context(), engine.ClaimRequest{Tenant: "a", Thread: "thr_1", Claim: "w", Now: 1000, LeaseEnd: 2000, Due: 3000, Schema: 1})
	if err != nil {
		t.Fatal(err, w)
	}
	for n, types := range [][]core.EventType{{core.EventTurnStarted}, {core.EventCallSuspended}} {
		next := h.Clone()
		next.Rev, next.CID, next.Seq = h.Rev+1, core.NewStamp(h.Epoch, n+1), h.Seq+1
		next.Seg = next.CID
		seg := core.Segment{Seq: next.Seq, W: next.CID, Prev: h.Seg}
		for _, of := range types {
			seg.Events = append(seg.Events, core.Event{Type: of})
		}
		written, err := db.Commit(t.Context(), engine.CommitRequest{Next: next, Segment: &seg})
		if err != nil {
			t.Fatal(err)
		}
		h = written.Head
		select {
		case <-feed:
			if n == 0 {
				t.Error("a commit that is not in the feed was signalled")
			}
		default:
			if n == 1 {
				t.Error("a suspension was not signalled")
			}
		}
	}
	select {
	case <-other:
		t.Error("another tenant got a signal")
	default:
	}
}

// Places follow commit order even if the clock goes back.
func TestTheFeedIsInTheOrderOfCommits(t *testing.T) {
	clock := enginetest.AtMilli(5000)
	path := newFile(t)
	db := open(t, path, options(t, clock))
	commit := func(db *sqlite.DB, thread string) {
		t.Helper()
		if _, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Identity: core.Identity{Tenant: "a", Thread: thread, Run: "run_x_0", Schema: 1}}}); err != nil {
			t.Fatal(err)
		}
		h, err := db.Claim(t.Context(), engine.ClaimRequest{Tenant: "a", Thread: thread, Claim: "w", Now: 1000, LeaseEnd: 2000, Due: 3000, Schema: 1})
		if err != nil {
			t.Fatal(err)
		}
		next := h.Clone()
		next.Rev, next.CID, next.Seq, next.Seg = h.Rev+1, core.NewStamp(h.Epoch, 1), 1, core.NewStamp(h.Epoch, 1)
		seg := core.Segment{Seq: 1, W: next.CID, Events: []core.Event{{Type: core.EventCallSuspended}}}
		if _, err := db.Commit(t.Context(), engine.CommitRequest{Next: next, Segment: &seg}); err != nil {
			t.Fatal(err)
		}
	}
	commit(db, "thr_b")
	behind := open(t, path, options(t, enginetest.AtMilli(1000)))
	commit(behind, "thr_a")
	commit(db, "thr_c")
	entries, err := db.Feed(t.Context(), "a", engine.FeedQuery{Limit: 10})
	if err != nil || len(entries) != 3 || entries[0].Thread != "thr_b" || entries[1].Thread != "thr_a" || entries[2].Thread != "thr_c" {
		t.Errorf("%+v, %v", entries, err)
	}
}
