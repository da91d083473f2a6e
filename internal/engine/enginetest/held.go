package enginetest

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// The run that a held message begins takes the place of a run that its owner has ended and not yet
// given up.
var heldCases = []storeCase{
	{"C110 the next run takes the head of an ended one, which is kept as done", testHeldTakesThePlace},
	{"HF10 the reply was lost: the same start again is a success until a worker has the run", testHeldRepeated},
	{"a head that has not ended, or that another owner has, is fenced", testHeldFenced},
	{"H6 a signal that the owner has not seen refuses it", testHeldUnseen},
	{"16 copies of one start at once: one run, its input once", testHeldTogether},
	{"of the owner and the one who took over one starts the run", testHeldRace},
	{"a caller cannot start a run on an ended head", testHeldKeepsCallersOut},
}

// ended starts a thread and ends its run under a claim; another run is to follow.
func (t *storeTest) ended(thread string) core.Head {
	t.Helper()
	return t.commit(ending(t.claim(t.start(thread), "owner of "+thread, 1000), 1))
}

// ending is the end of h's run, with a message held.
func ending(h core.Head, n int) engine.CommitRequest {
	req := next(h, n, "that is all")
	req.Next.Status, req.Next.End = core.RunRunning, &core.Reason{Kind: core.NaturalEnd}
	req.Next.Held = []core.Held{{Seq: req.Next.Seq, Key: "m:1"}, {Seq: req.Next.Seq, Key: "m:2"}}
	req.AllSeen, req.Seen = true, h.Sigs
	return req
}

// owned is the start of the run after prior by prior's owner.
func owned(prior core.Head) engine.StartRequest {
	head := following(prior, core.RunID(prior.Thread, prior.Rev+1))
	head.Held = prior.Held[min(1, len(prior.Held)):]
	return engine.StartRequest{Head: head, Prior: &prior, Owned: true, Seen: prior.Sigs, Due: 8000}
}

func testHeldTakesThePlace(t *storeTest) {
	old := t.ended(thread)
	req := owned(old)
	w, err := t.store.Start(t.Context(), req)
	t.must(err)
	want := req.Head
	want.Due = 8000
	t.equal("head", w.Head, want)
	t.unchanged(want)
	record, err := t.store.Archived(t.Context(), tenant, old.Run)
	t.must(err)
	kept := old.Record()
	kept.Status = core.RunDone
	t.equal("record", record, kept)
	runs, _, err := t.store.Runs(t.Context(), tenant, thread, "", 10)
	t.must(err)
	if len(runs) != 2 || runs[1].Run != old.Run || runs[1].Status != core.RunDone {
		t.Fatalf("runs %+v", runs)
	}
	// the lease of the old owner does not hold the new run back
	h := t.claim(w.Head, "w2", 1001)
	t.equal("journal", t.texts(t.commit(next(h, 1, "again"))), []string{"that is all", "again"})
}

func testHeldRepeated(t *storeTest) {
	old := t.ended(thread)
	req := owned(old)
	first, err := t.store.Start(t.Context(), req)
	t.must(err)
	again, err := t.store.Start(t.Context(), req)
	t.must(err)
	t.equal("head of the repeat", again.Head, first.Head)
	t.unchanged(first.Head)
	taken := t.claim(first.Head, "w2", 1001)
	_, err = t.store.Start(t.Context(), req)
	t.wantErr(err, engine.ErrFenced)
	_, err = t.store.Commit(t.Context(), next(old, 2, "late"))
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(taken)
}

func testHeldFenced(t *storeTest) {
	old := t.ended("thr_b")
	for name, prior := range map[string]core.Head{
		"not ended":       t.claim(t.start(thread), "w1", 1000),
		"another epoch":   t.claim(old, "w2", 1101),
		"waiting":         t.waiting("thr_c"),
		"done":            t.done("thr_d"),
		"no such thread":  created("thr_nobody"),
		"a revision back": t.ended("thr_e"),
	} {
		stored, req := prior, owned(prior)
		switch name {
		case "another epoch":
			req = owned(old)
		case "a revision back":
			prior.Rev--
			req = owned(prior)
		}
		if _, err := t.store.Start(t.Context(), req); !errors.Is(err, engine.ErrFenced) {
			t.Errorf("%s: got %v", name, err)
		}
		if name != "no such thread" {
			t.unchanged(stored)
		}
		_, err := t.store.Archived(t.Context(), tenant, prior.Run)
		t.wantErr(err, engine.ErrNotFound)
	}
}

func testHeldUnseen(t *storeTest) {
	old := t.ended(thread)
	req := owned(old)
	req.Seen--
	w, err := t.store.Start(t.Context(), req)
	t.wantErr(err, engine.ErrSignals)
	t.equal("head with the signal", w.Head, old)
	t.unchanged(old)
	_, err = t.store.Archived(t.Context(), tenant, old.Run)
	t.wantErr(err, engine.ErrNotFound)
}

func testHeldTogether(t *storeTest) {
	req := owned(t.ended(thread))
	for i, err := range Together(16, func(int) error {
		_, err := t.store.Start(t.Context(), req)
		return err
	}) {
		if err != nil {
			t.Errorf("number %d: %v", i, err)
		}
	}
	want := req.Head
	want.Due = 8000
	t.unchanged(want)
}

func testHeldRace(t *storeTest) {
	old := t.ended(thread)
	fresh := t.claim(old, "w2", 1101)
	starts := []engine.StartRequest{owned(old), owned(fresh)}
	winners := t.winners(Together(2, func(i int) error {
		_, err := t.store.Start(t.Context(), starts[i])
		return err
	}), engine.ErrFenced)
	if len(winners) != 1 || winners[0] != 1 {
		t.Fatalf("winners: %v", winners)
	}
	want := starts[1].Head
	want.Due = 8000
	t.unchanged(want)
}

func testHeldKeepsCallersOut(t *storeTest) {
	old := t.ended(thread)
	w, err := t.store.Start(t.Context(), succeed(old, "run_a_7"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head in the way", w.Head, old)
	_, err = t.store.Signal(t.Context(), say(old, "m3"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(old)
}
