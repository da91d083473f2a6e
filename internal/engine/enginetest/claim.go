package enginetest

import (
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var claimCases = []storeCase{
	{"the head is raised, leased and running", testClaimWrites},
	{"the conditions at their boundaries", testClaimConditions},
	{"C184 a lease of 100 from 1000 ends strictly after 1100", testLeaseBoundary},
	{"C191 32 workers claim one run: one winner, its epoch is the stored one", testClaimRace},
	{"HF10 the reply was lost: the same claim again is granted, the epoch raised once", testClaimRepeated},
	{"H3 a late copy of a claim after the release is refused", testClaimCopyAfterRelease},
	{"H4 a late copy of a claim after its lease ended makes no ghost", testClaimCopyAfterLease},
	{"H19 a claim does not ask when the run is due", testClaimIgnoresDue},
	{"no such thread is refused", testClaimNothing},
	{"a head of a newer schema is left alone", testClaimNewerSchema},
}

func testClaimWrites(t *storeTest) {
	h := t.start(thread)
	got := t.claim(h, "w1", 1000)
	want := h.Clone()
	want.Epoch, want.Rev, want.Tries = h.Epoch+1, h.Rev+1, 1
	want.Lease, want.Claim, want.Due, want.Status = 1100, "w1", 61000, core.RunRunning
	t.equal("claimed head", got, want)
	t.unchanged(want)
}

// claimable describes a head that no worker holds, at rest since 1000.
type claimable struct {
	name   string
	change func(*core.Head)
	signal bool // something is in the inbox
	want   error
}

var claimConditions = []claimable{
	{"created", func(h *core.Head) { h.Status = core.RunCreated }, false, nil},
	{"created, not before now", func(h *core.Head) { h.NotBefore = 5000 }, false, nil},
	{"created, not before later", func(h *core.Head) { h.NotBefore = 5001 }, false, engine.ErrRefused},
	{"running", func(h *core.Head) { h.Status = core.RunRunning }, false, nil},
	{"running, backing off until now", func(h *core.Head) { h.Status, h.NotBefore = core.RunRunning, 5000 }, false, nil},
	{"running, backing off", func(h *core.Head) { h.Status, h.NotBefore = core.RunRunning, 5001 }, false, engine.ErrRefused},
	{"running, backing off, with a signal", func(h *core.Head) { h.Status, h.NotBefore = core.RunRunning, 5001 }, true, nil},
	{"waiting", func(h *core.Head) { h.Status = core.RunWaiting }, false, engine.ErrRefused},
	{"waiting with a signal", func(h *core.Head) { h.Status = core.RunWaiting }, true, nil},
	{"waiting, deadline now", func(h *core.Head) { h.Status, h.Deadline = core.RunWaiting, 5000 }, false, nil},
	{"waiting, deadline later", func(h *core.Head) { h.Status, h.Deadline = core.RunWaiting, 5001 }, false, engine.ErrRefused},
	{"done", func(h *core.Head) { h.Status = core.RunDone }, false, engine.ErrRefused},
	{"done, a signal left behind", func(h *core.Head) { h.Status = core.RunDone }, true, engine.ErrRefused},
	{"done, a deadline left behind", func(h *core.Head) { h.Status, h.Deadline = core.RunDone, 1 }, false, engine.ErrRefused},
	{"leased until now", func(h *core.Head) { h.Lease = 5000 }, true, engine.ErrRefused},
	{"leased until just before", func(h *core.Head) { h.Lease = 4999 }, true, nil},
	{"claimed by the same before", func(h *core.Head) { h.Claim = "w1" }, true, engine.ErrRefused},
	{"claimed by another before", func(h *core.Head) { h.Claim = "w2" }, true, nil},
}

func testClaimConditions(t *storeTest) {
	for i, c := range claimConditions {
		t.Run(c.name, func(inner *testing.T) {
			t := &storeTest{T: inner, store: t.store}
			h := created(numbered("thr_", i))
			if !c.signal {
				h.Inbox = nil
			}
			c.change(&h)
			stored := t.startHead(h)
			got, err := t.store.Claim(t.Context(), claimOf(h, "w1", 5000))
			if want := stored.Claimable(5000, "w1"); want != (c.want == nil) {
				t.Fatalf("Claimable says %v; the table is wrong", want)
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want != nil {
				t.unchanged(stored)
			} else if got.Epoch != stored.Epoch+1 {
				t.Fatalf("epoch %d after %d", got.Epoch, stored.Epoch)
			}
		})
	}
}

func testLeaseBoundary(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	for _, now := range []int64{999, 1100} {
		_, err := t.store.Claim(t.Context(), claimOf(h, numbered("at", int(now)), now))
		t.wantErr(err, engine.ErrRefused)
		t.unchanged(h)
	}
	if got := t.claim(h, "w2", 1101); got.Epoch != h.Epoch+1 || got.Tries != 2 {
		t.Fatalf("epoch %d, tries %d after the steal", got.Epoch, got.Tries)
	}
}

func testClaimRace(t *storeTest) {
	h := t.start(thread)
	heads := make([]core.Head, 32)
	winners := t.winners(Together(len(heads), func(i int) (err error) {
		heads[i], err = t.store.Claim(t.Context(), claimOf(h, numbered("w", i), 1000))
		return err
	}), engine.ErrRefused)
	if len(winners) != 1 {
		t.Fatalf("winners: %v", winners)
	}
	t.unchanged(heads[winners[0]])
}

func testClaimRepeated(t *storeTest) {
	h := t.start(thread)
	first := t.claim(h, "w1", 1000)
	t.equal("head of the repeat", t.claim(h, "w1", 1001), first)
	t.unchanged(first)
}

func testClaimCopyAfterRelease(t *storeTest) {
	h := t.start(thread)
	h = t.commit(suspend(t.claim(h, "w1", 1000), 1, "sus_1"))
	h = t.signal(decide(h, "sus_1", "d1"))
	_, err := t.store.Claim(t.Context(), claimOf(h, "w1", 1000))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(h)
}

func testClaimCopyAfterLease(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	late := claimOf(h, "w1", 1200)
	got, err := t.store.Claim(t.Context(), late)
	t.must(err) // it is the caller's own, lease over or not: its commits still win
	t.equal("head", got, h)
	t.unchanged(h)
}

func testClaimIgnoresDue(t *storeTest) {
	h := created(thread)
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: h, Due: 1 << 40})
	t.must(err)
	t.claim(w.Head, "w1", 1000)
}

func testClaimNothing(t *storeTest) {
	_, err := t.store.Claim(t.Context(), claimOf(created("thr_nobody"), "w1", 1000))
	t.wantErr(err, engine.ErrRefused)
	_, err = t.store.Load(t.Context(), tenant, "thr_nobody")
	t.wantErr(err, engine.ErrNotFound)
}

func testClaimNewerSchema(t *storeTest) {
	h := created(thread)
	h.Schema = core.SchemaVersion + 1
	stored := t.startHead(h)
	_, err := t.store.Claim(t.Context(), claimOf(h, "w1", 1000))
	t.wantErr(err, engine.ErrNewerSchema)
	t.unchanged(stored)
}
