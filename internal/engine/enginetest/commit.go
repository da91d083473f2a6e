package enginetest

import (
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var commitCases = []storeCase{
	{"head and segment are read back as written", testCommitWrites},
	{"C164 each commit requires exactly the revision before it", testCommitRevision},
	{"C173 a refused commit leaves neither segment nor head", testCommitAtomic},
	{"C192 a stale owner's commit is refused, the new owner's works", testCommitStale},
	{"of two commits with one predecessor one is visible", testCommitRace},
	{"C202 HF10 the reply was lost: the same commit again is a success", testCommitRepeated},
	{"H1 a late copy of a commit is refused after the next one", testCommitCopy},
	{"H2 a second put of one segment wins over the late first one", testSegmentTwice},
	{"H6 H7 a closing commit is refused because of an unseen signal", testCommitUnseen},
	{"a commit that is not closing lets signals in", testCommitKeepsSignals},
	{"due changes only when asked", testCommitDue},
	{"a release gives the lease up and keeps the claim", testRelease},
	{"a commit without a segment leaves the journal as it is", testCommitNoSegment},
	{"a commit for a thread that is not there is fenced", testCommitNothing},
	{"texts keep every character", testUnicode},
}

func testCommitWrites(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "hello")
	n := &req.Next
	n.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindClient, Mode: core.UseDecisionAsToolResult, Sus: "sus_1", Deadline: 77, Decision: "d x", Suspensions: 2},
		Attempt: core.Attempt{Number: 3, IntentEpoch: 4}, HeldBehind: "c0", Approval: core.Approval{Approved: true}}}
	n.Round, n.Pending, n.Oldest, n.TimedOut, n.Held = 1, 1, "sus_1#run", map[string]int{"sus_0": 1}, []core.Held{{Seq: 1, Key: "m:1"}, {Seq: 2, Key: "m:2"}}
	n.Out = map[string]core.Out{"notify:c1": {Kind: core.OutNotify, Call: "c1", Sus: "sus_1"}}
	n.Deadline, n.NotBefore, n.End = 77, 88, &core.Reason{Kind: core.Stopped, Code: "max_rounds", Detail: "10"}
	n.Response, n.StepOpen, n.TurnOpen, n.RetryOf = core.ResponseNoOp, true, true, "run_old"
	n.Counters = core.Counters{Step: 1, Turn: 2, Activations: 3, Resumes: 4, InputTokens: 5, OutputTokens: 6, ModelTries: 7}
	n.Metadata, n.At, n.Seq0, n.Ev0, n.Ev = core.Encode(map[string]any{"a": 1}), 1500, 3, 4, 9
	got := t.commit(req)
	want := *n
	want.Inbox = nil
	t.equal("head", got, want)
	t.unchanged(want)
	segments, err := t.store.Segments(t.Context(), tenant, thread, 1, 10)
	t.must(err)
	t.equal("segments", segments, []core.Segment{*req.Segment})
}

func testCommitRevision(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	first := t.commit(next(h, 1, "one"))
	skipped := first
	skipped.Rev++
	_, err := t.store.Commit(t.Context(), next(skipped, 2, "three"))
	t.wantErr(err, engine.ErrFenced)
	_, err = t.store.Commit(t.Context(), next(h, 3, "one again"))
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(first)
	second := t.commit(next(first, 4, "two"))
	if second.Rev != first.Rev+1 {
		t.Fatalf("revision %d after %d", second.Rev, first.Rev)
	}
	t.equal("journal", t.texts(second), []string{"one", "two"})
}

func testCommitAtomic(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	stale := next(h, 1, "never")
	stale.Next.Rev += 5
	_, err := t.store.Commit(t.Context(), stale)
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(h)
	t.equal("journal", t.texts(h), []string(nil))
}

func testCommitStale(t *storeTest) {
	old := t.claim(t.start(thread), "w1", 1000)
	fresh := t.claim(old, "w2", 1101)
	_, err := t.store.Commit(t.Context(), next(old, 1, "stale"))
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(fresh)
	_, err = t.store.Commit(t.Context(), finish(old, 2))
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(fresh)
	got := t.commit(next(fresh, 1, "fresh"))
	t.equal("journal", t.texts(got), []string{"fresh"})
}

func testCommitRace(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	winners := t.winners(Together(16, func(i int) error {
		_, err := t.store.Commit(t.Context(), next(h, i+1, numbered("turn ", i)))
		return err
	}), engine.ErrFenced)
	if len(winners) != 1 {
		t.Fatalf("winners: %v", winners)
	}
	got := t.load(h)
	t.equal("journal", t.texts(got), []string{numbered("turn ", winners[0])})
}

func testCommitRepeated(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "once")
	first := t.commit(req)
	t.equal("head of the repeat", t.commit(req), first)
	released := finish(first, 2)
	last := t.commit(released)
	t.equal("head of the repeated release", t.commit(released), last)
	t.equal("journal", t.texts(last), []string{"once", "that is all"})
	t.unchanged(last)
}

func testCommitCopy(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "one")
	first := t.commit(req)
	second := t.commit(next(first, 2, "two"))
	_, err := t.store.Commit(t.Context(), req)
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(second)
	t.equal("journal", t.texts(second), []string{"one", "two"})
}

func testSegmentTwice(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	h = t.commit(next(h, 1, "one"))
	closing := finish(h, 2)
	t.signal(say(h, "wait"))
	w, err := t.store.Commit(t.Context(), closing)
	t.wantErr(err, engine.ErrSignals)
	after := t.commit(next(w.Head, 3, "drained"))
	_, err = t.store.Commit(t.Context(), closing)
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(after)
	t.equal("journal", t.texts(after), []string{"one", "drained"})
	if after.Seg != core.NewStamp(h.Epoch, 3) {
		t.Fatalf("the head names the segment %d", after.Seg)
	}
}

func testCommitUnseen(t *storeTest) {
	doors := map[string]func(core.Head) engine.CommitRequest{
		"release to waiting": func(h core.Head) engine.CommitRequest { return suspend(h, 1, "sus_1") },
		"release to done":    func(h core.Head) engine.CommitRequest { return finish(h, 1) },
	}
	for name, door := range doors {
		t.Run(name, func(inner *testing.T) {
			t := &storeTest{T: inner, store: t.store}
			h := t.claim(t.start("thr_"+name), "w1", 1000)
			closing := door(h)
			seen := t.signal(say(h, "m1"))
			w, err := t.store.Commit(t.Context(), closing)
			t.wantErr(err, engine.ErrSignals)
			t.equal("head with the signal", w.Head, seen)
			t.unchanged(seen)
			closing = door(w.Head)
			closing.Next.CID, closing.Next.Seg = core.NewStamp(h.Epoch, 2), core.NewStamp(h.Epoch, 2)
			closing.Segment.W = closing.Next.CID
			if got := t.commit(closing); len(got.Inbox) != 0 || got.Lease != 0 {
				t.Fatalf("after the second try: %+v", got)
			}
		})
	}
}

func testCommitKeepsSignals(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "one")
	t.signal(say(h, "m1"))
	got := t.commit(req)
	t.equal("inbox", got.Inbox, map[string]core.Signal{core.MessageKey("m1"): message("m1")})
	if got.Sigs != h.Sigs+1 {
		t.Fatalf("sigs %d after %d", got.Sigs, h.Sigs)
	}
	t.unchanged(got)
	t.equal("inbox after the drain", t.commit(next(got, 2, "two")).Inbox, map[string]core.Signal(nil))
}

func testCommitDue(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	t.signal(say(h, "m1"))
	got := t.commit(next(h, 1, "one"))
	if got.Due != 9000 {
		t.Fatalf("due %d, the signal said 9000", got.Due)
	}
	for _, due := range []int64{12345, 0} {
		req := next(got, int(got.Rev), "more")
		req.Due = &due
		if got = t.commit(req); got.Due != due {
			t.Fatalf("due %d, want %d", got.Due, due)
		}
	}
}

func testRelease(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "one")
	req.Next.Lease, req.Next.Status = 0, core.RunRunning
	got := t.commit(req)
	if got.Lease != 0 || got.Claim != "w1" || got.Epoch != h.Epoch || got.Tries != 0 {
		t.Fatalf("after the release: lease %d, claim %q, epoch %d, tries %d", got.Lease, got.Claim, got.Epoch, got.Tries)
	}
	if again := t.claim(got, "w2", 1001); again.Epoch != h.Epoch+1 {
		t.Fatalf("epoch %d after %d", again.Epoch, h.Epoch)
	}
}

func testCommitNoSegment(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	got := t.commit(next(h, 1, ""))
	if got.Seq != h.Seq || got.Rev != h.Rev+1 {
		t.Fatalf("seq %d, rev %d", got.Seq, got.Rev)
	}
	segments, err := t.store.Segments(t.Context(), tenant, thread, 1, 10)
	t.must(err)
	t.equal("segments", segments, []core.Segment(nil))
}

func testCommitNothing(t *storeTest) {
	h := created("thr_nobody")
	h.Status = core.RunRunning
	_, err := t.store.Commit(t.Context(), next(h, 1, "hello"))
	if !errors.Is(err, engine.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	// a segment may be left, which no head names
	_, err = t.store.Load(t.Context(), tenant, h.Thread)
	t.wantErr(err, engine.ErrNotFound)
}

// Strange are texts that break careless quoting and encoding.
var Strange = []string{`"`, `'`, `''; DROP TABLE heads; --`, `\`, `\"`, `\u0041`, `$.a[0]`, `a.b`, `c1"`, "\u2028", "\x01", "tab\t", "naïve ☕ 東京 🐭",
	`{"a":1}`, `%s`, `#`, ` `, "null", "é", "e\u0301"}

func testUnicode(t *storeTest) {
	for i, s := range Strange {
		h := created("thr_" + s)
		h.Tenant, h.Run, h.Agent = "tenant "+s, "run "+s, s
		h = t.claim(t.startHead(h), s, 1000)
		req := suspend(h, 1, "sus_"+s)
		req.Segment.Messages[0].Parts = core.TextParts(s)
		req.Next.Calls = map[string]core.Call{"decoy": {Status: core.CallSuspended, Wait: core.Wait{Sus: "other"}},
			s: {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_" + s}}}
		h = t.commit(req)
		t.equal("calls", h.Calls, req.Next.Calls)
		signal := decide(h, "sus_"+s, s)
		signal.Call, signal.Signal.Call = s, s
		signal.Key = &engine.Key{Tenant: h.Tenant, Key: s, Run: h.Run, Digest: s}
		other := signal
		other.Call, other.Key = Strange[(i+1)%len(Strange)], nil
		_, err := t.store.Signal(t.Context(), other)
		t.wantErr(err, engine.ErrRefused)
		h = t.signal(signal)
		t.equal("inbox", h.Inbox, map[string]core.Signal{"sus_" + s: signal.Signal})
		h = t.commit(next(t.claim(h, s+s, 1000), 1, s))
		t.equal("inbox after the drain", h.Inbox, map[string]core.Signal(nil))
		t.equal("journal", t.texts(h), []string{s, s})
	}
}
