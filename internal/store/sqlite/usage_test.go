package sqlite_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

func stored(t *testing.T, db *sqlite.DB, tenant string) quota.Stored {
	t.Helper()
	s, err := db.Stored(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish ends the thread's run.
func finish(t *testing.T, db *sqlite.DB, thread, by string) core.Head {
	t.Helper()
	h := claim(t, db, thread, by, 2000)
	h.Rev, h.CID, h.Lease, h.Status, h.End = h.Rev+1, core.NewStamp(h.Epoch, 1), 0, core.RunDone, &core.Reason{Kind: core.NaturalEnd}
	w, err := db.Commit(t.Context(), engine.CommitRequest{Next: h, Drained: slices.Collect(maps.Keys(h.Inbox))})
	if err != nil {
		t.Fatal(err)
	}
	return w.Head
}

func TestWhatATenantHasStoredIsCounted(t *testing.T) {
	path, clock := newFile(t), enginetest.AtMilli(1000)
	db := open(t, path, options(t, clock))
	want := func(what string, runs int, least, most int64) int64 {
		t.Helper()
		got := stored(t, db, tenant)
		if got.Runs != runs || got.Bytes < least || got.Bytes > most {
			t.Errorf("%s: %+v, want %d runs and %d to %d bytes", what, got, runs, least, most)
		}
		return got.Bytes
	}
	want("nothing", 0, 0, 0)
	start(t, db, newHead("thr_a"))
	start(t, db, newHead("thr_b"))
	bytes := want("two threads", 2, 8192, 8192)
	for range 2 { // the second is there already
		if err := db.PutPayload(t.Context(), tenant, "thr_a", "digest", make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	bytes = want("a payload", 2, bytes+1000, bytes+1000)
	step(t, db, 1)
	bytes = want("a step", 2, bytes+50, bytes+1200)
	prior := finish(t, db, "thr_b", "finisher")
	bytes = want("a run is done", 1, bytes, bytes)
	next := newHead("thr_b")
	next.Run, next.Rev, next.Epoch = "run_b_1", prior.Rev+1, prior.Epoch
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: next, Prior: &prior}); err != nil {
		t.Fatal(err)
	}
	bytes = want("another run follows it", 2, bytes+50, bytes+1000)
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: next, Prior: &prior}); err == nil {
		t.Fatal("the start was taken twice")
	}
	again := open(t, path, options(t, clock))
	if got := stored(t, again, tenant); got != (quota.Stored{Bytes: bytes, Runs: 2}) {
		t.Errorf("after it was opened again: %+v", got)
	}
	if got := stored(t, db, "another"); got != (quota.Stored{}) {
		t.Errorf("another tenant: %+v", got)
	}
}
