package enginetest

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var startCases = []storeCase{
	{"the head is read back as given, with its input in the inbox", testStartWrites},
	{"a thread is created once, the second start gets its head", testStartTwice},
	{"32 starts of one thread at once: one creates it", testStartRace},
	{"C20 H16 the next run takes the head, the old one is kept", testStartNext},
	{"H14 epoch, rev, seq, ev and sigs go on", testStartContinues},
	{"H14 an old owner cannot write into the next run", testStartFencesOldOwner},
	{"H14 a signal for the old run does not reach the next one", testStartFencesSignals},
	{"the next run is refused while this one is open, or at another revision", testStartRefused},
	{"H15 a key starts one run, regardless of what came since", testStartKey},
	{"16 starts on a thread with one key at once: one run", testStartKeyRace},
	{"a refused start leaves no key behind", testStartAtomic},
	{"a thread that a newer program has written is left alone", testStartNewerSchema},
}

func testStartNewerSchema(t *storeTest) {
	h := created(thread)
	h.Schema = core.SchemaVersion + 1
	h.Status, h.End, h.Inbox = core.RunDone, &core.Reason{Kind: core.NaturalEnd}, nil
	stored := t.startHead(h)
	key := &engine.Key{Tenant: tenant, Key: "k1", Run: "run_x", Digest: "d"}
	for _, owned := range []bool{false, true} {
		_, err := t.store.Start(t.Context(), engine.StartRequest{Head: stored.Succeed("sha256:1", message("again"), 2000), Prior: &stored, Owned: owned, Seen: stored.Sigs, Key: key, Due: 9000})
		if err == nil {
			t.Fatal("a run of this program began where one of a newer program was")
		}
	}
	t.unchanged(stored)
	_, err := t.store.Used(t.Context(), tenant, "k1")
	t.wantErr(err, engine.ErrNotFound)
}

func testStartWrites(t *storeTest) {
	h := created(thread)
	h.Metadata, h.RetryOf = core.Encode(map[string]string{"k": "v"}), "run_x"
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: h, Due: 6000})
	t.must(err)
	h.Due = 6000
	t.equal("head", w.Head, h)
	t.unchanged(h)
}

func testStartTwice(t *storeTest) {
	first := t.start(thread)
	again := created(thread)
	again.Idem = "another"
	again.Inbox = map[string]core.Signal{core.KeyStart: message("something else")}
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: again, Due: 7000})
	t.wantErr(err, engine.ErrRefused)
	t.equal("head in the way", w.Head, first)
	t.unchanged(first)
}

func testStartRace(t *storeTest) {
	winners := t.winners(Together(32, func(i int) error {
		h := created(thread)
		h.Run = numbered("run_a_", i)
		_, err := t.store.Start(t.Context(), engine.StartRequest{Head: h, Due: 6000})
		return err
	}), engine.ErrRefused)
	if len(winners) != 1 {
		t.Fatalf("winners: %v", winners)
	}
	if got := t.load(created(thread)).Run; got != numbered("run_a_", winners[0]) {
		t.Fatalf("run %s, winner %d", got, winners[0])
	}
}

// following is the head of the run after prior.
func following(prior core.Head, run string) core.Head {
	h := created(prior.Thread)
	h.Run, h.Idem, h.Born = run, prior.Idem, prior.Born+1
	h.Epoch, h.Rev, h.Sigs = prior.Epoch+1, prior.Rev+1, prior.Sigs+1
	h.CID, h.Seq, h.Seg, h.Ev = prior.CID, prior.Seq, prior.Seg, prior.Ev
	h.Seq0, h.Ev0, h.Claim = prior.Seq, prior.Ev, prior.Claim
	return h
}

func succeed(prior core.Head, run string) engine.StartRequest {
	return engine.StartRequest{Head: following(prior, run), Prior: &prior, Due: 8000}
}

func testStartNext(t *storeTest) {
	old := t.done(thread)
	_, err := t.store.Archived(t.Context(), tenant, old.Run)
	t.wantErr(err, engine.ErrNotFound)
	req := succeed(old, "run_a_7")
	w, err := t.store.Start(t.Context(), req)
	t.must(err)
	want := req.Head
	want.Due = 8000
	t.equal("head", w.Head, want)
	t.unchanged(want)
	record, err := t.store.Archived(t.Context(), tenant, old.Run)
	t.must(err)
	t.equal("record", record, old.Record())
	_, err = t.store.Archived(t.Context(), "another tenant", old.Run)
	t.wantErr(err, engine.ErrNotFound)
}

func testStartContinues(t *storeTest) {
	old := t.done(thread)
	w, err := t.store.Start(t.Context(), succeed(old, "run_a_7"))
	t.must(err)
	h := t.claim(w.Head, "w9", 5000)
	if h.Epoch != old.Epoch+2 || h.Rev != old.Rev+2 || h.Sigs != old.Sigs+1 || h.Seq != old.Seq {
		t.Fatalf("after %+v\ncame %+v", old, h)
	}
	h = t.commit(next(h, 1, "again"))
	t.equal("journal", t.texts(h), []string{"that is all", "again"})
}

func testStartFencesOldOwner(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	old := t.commit(finish(h, 1))
	w, err := t.store.Start(t.Context(), succeed(old, "run_a_7"))
	t.must(err)
	for name, late := range map[string]engine.CommitRequest{"a copy of the last": finish(h, 1), "a new one": next(old, 2, "late")} {
		if _, err := t.store.Commit(t.Context(), late); !errors.Is(err, engine.ErrFenced) {
			t.Fatalf("%s: got %v", name, err)
		}
	}
	t.unchanged(w.Head)
}

func testStartFencesSignals(t *storeTest) {
	old := t.done(thread)
	w, err := t.store.Start(t.Context(), succeed(old, "run_a_7"))
	t.must(err)
	cancel := say(old, "x")
	cancel.InboxKey, cancel.Signal.Kind = core.KeyCancel, core.SignalCancel
	got, err := t.store.Signal(t.Context(), cancel)
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused", got.Head, w.Head)
	t.unchanged(w.Head)
}

func testStartRefused(t *storeTest) {
	open := t.waiting(thread)
	w, err := t.store.Start(t.Context(), succeed(open, "run_a_7"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head in the way", w.Head, open)
	done := t.done("thr_b")
	stale := done
	stale.Rev--
	w, err = t.store.Start(t.Context(), succeed(stale, "run_b_7"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head in the way", w.Head, done)
	_, err = t.store.Start(t.Context(), succeed(created("thr_nobody"), "run_c_7"))
	t.wantErr(err, engine.ErrRefused)
	for _, h := range []core.Head{open, done} {
		t.unchanged(h)
		_, err = t.store.Archived(t.Context(), tenant, h.Run)
		t.wantErr(err, engine.ErrNotFound)
	}
}

// keyTaken fails the test unless err says that the key was used as want.
func (t *storeTest) keyTaken(err error, want engine.Key) {
	t.Helper()
	var taken *engine.KeyTakenError
	if !errors.As(err, &taken) {
		t.Fatalf("got %v, want a key that is taken", err)
	}
	t.equal("key", taken.Key, want)
}

func testStartKey(t *storeTest) {
	old := t.done(thread)
	req := succeed(old, "run_a_7")
	req.Key = &engine.Key{Tenant: tenant, Key: "k1", Run: "run_a_7", Digest: "d1"}
	w, err := t.store.Start(t.Context(), req)
	t.must(err)
	_, err = t.store.Start(t.Context(), req)
	t.keyTaken(err, *req.Key)
	used, err := t.store.Used(t.Context(), tenant, "k1")
	t.must(err)
	t.equal("used key", used, *req.Key)
	_, err = t.store.Used(t.Context(), "another tenant", "k1")
	t.wantErr(err, engine.ErrNotFound)
	done := t.commit(finish(t.claim(w.Head, "w9", 5000), 1))
	again := succeed(done, "run_a_9")
	again.Key = &engine.Key{Tenant: tenant, Key: "k1", Run: "run_a_9", Digest: "d2"}
	_, err = t.store.Start(t.Context(), again)
	t.keyTaken(err, *req.Key)
	t.unchanged(done)
	again.Key.Tenant = "another tenant"
	_, err = t.store.Start(t.Context(), again)
	t.must(err)
}

func testStartKeyRace(t *storeTest) {
	old := t.done(thread)
	won := 0
	for i, err := range Together(16, func(i int) error {
		run := numbered("run_a_", i)
		req := succeed(old, run)
		req.Key = &engine.Key{Tenant: tenant, Key: "k1", Run: run, Digest: "d"}
		_, err := t.store.Start(t.Context(), req)
		return err
	}) {
		var taken *engine.KeyTakenError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &taken):
			t.Errorf("number %d: %v", i, err)
		case taken.Key.Run != t.load(old).Run:
			t.Errorf("number %d got the run %s", i, taken.Key.Run)
		}
	}
	if won != 1 {
		t.Fatalf("%d runs were started", won)
	}
}

func testStartAtomic(t *storeTest) {
	open := t.waiting(thread)
	req := succeed(open, "run_a_7")
	req.Key = &engine.Key{Tenant: tenant, Key: "k1", Run: "run_a_7", Digest: "d1"}
	_, err := t.store.Start(t.Context(), req)
	t.wantErr(err, engine.ErrRefused)
	other := succeed(t.done("thr_b"), "run_b_7")
	other.Key = &engine.Key{Tenant: tenant, Key: "k1", Run: "run_b_7", Digest: "d2"}
	_, err = t.store.Start(t.Context(), other)
	t.must(err)
}
