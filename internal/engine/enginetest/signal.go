package enginetest

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var signalCases = []storeCase{
	{"a signal is in the inbox, counted and due", testSignalWrites},
	{"the first decision on a suspension wins", testDecisionFirst},
	{"100 different decisions at once: one is stored, the others see it", testDecisionRace},
	{"H9 a decision on an old suspension is refused", testDecisionStale},
	{"a decision on a call that is not suspended, or not there, is refused", testDecisionNoCall},
	{"nothing is accepted once the end is set", testSignalAfterEnd},
	{"C199 a signal for an unknown thread or run is refused", testSignalUnknown},
	{"H8 a message with a key is stored once, drained or not", testMessageKey},
	{"a refused message leaves no key behind", testMessageAtomic},
	{"H29 the inbox is full at the limit, not below", testInboxFull},
	{"a message that requires no open wait is refused while a call is suspended", testNobodyWaits},
	{"C172 50 signals at once are all stored", testSignalsTogether},
	{"a cancel twice is stored once", testCancelTwice},
	{"H25 HC4 a late answer is stored once, and only for a suspension whose deadline closed it", testLate},
	{"H25 32 late answers at once: one is stored", testLateRace},
	{"a decision by a link comes back with the link and its maker", testDecisionByLink},
	{"an interrupt that was drained is not stored again, another one is", testInterrupt},
	{"H53 decisions that belong together are stored in one write, and counted once", testTogether},
	{"H53 of decisions that belong together one is refused: none is stored", testTogetherRefused},
}

func testSignalWrites(t *storeTest) {
	h := t.waiting(thread)
	got := t.signal(decide(h, "sus_1", "d1"))
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+1, 9000
	want.Inbox["sus_1"] = decision("d1")
	t.equal("head", got, want)
	t.unchanged(want)
}

func testDecisionByLink(t *storeTest) {
	req := decide(t.waiting(thread), "sus_1", "lnk_1")
	req.Signal.By, req.Signal.Via, req.Signal.Link, req.Signal.Mint, req.Signal.Ver = "link:anna@example.com", core.ViaLink, "lnk_1", "token:mailer", core.VerifiedByCode
	got := t.signal(req)
	t.equal("signal", got.Inbox["sus_1"], req.Signal)
	t.unchanged(got)
}

func testDecisionFirst(t *storeTest) {
	h := t.waiting(thread)
	first := t.signal(decide(h, "sus_1", "d1"))
	for _, id := range []string{"d2", "d1"} {
		w, err := t.store.Signal(t.Context(), decide(h, "sus_1", id))
		t.wantErr(err, engine.ErrRefused)
		t.equal("head that refused", w.Head, first)
	}
	t.unchanged(first)
}

func testDecisionRace(t *storeTest) {
	h := t.waiting(thread)
	seen := make([]string, 100)
	winners := t.winners(Together(len(seen), func(i int) error {
		w, err := t.store.Signal(t.Context(), decide(h, "sus_1", numbered("d", i)))
		seen[i] = w.Head.Inbox["sus_1"].ID
		return err
	}), engine.ErrRefused)
	if len(winners) != 1 {
		t.Fatalf("winners: %v", winners)
	}
	for i, id := range seen {
		if id != numbered("d", winners[0]) {
			t.Errorf("number %d got %q, the winner is %d", i, id, winners[0])
		}
	}
	if got := t.load(h); got.Sigs != h.Sigs+1 {
		t.Fatalf("sigs %d after %d", got.Sigs, h.Sigs)
	}
}

func testDecisionStale(t *storeTest) {
	h := t.signal(decide(t.waiting(thread), "sus_1", "d1"))
	again := t.commit(suspend(t.claim(h, "w2", 3000), 1, "sus_2"))
	_, err := t.store.Signal(t.Context(), decide(h, "sus_1", "d2"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(again)
	t.signal(decide(h, "sus_2", "d3"))
}

func testDecisionNoCall(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := suspend(h, 1, "sus_1")
	req.Next.Calls["c2"] = core.Call{Status: core.CallResuming, Wait: core.Wait{Sus: "sus_2"}}
	req.Next.Calls["c3"] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_3"}}
	h = t.commit(req)
	for call, sus := range map[string]string{"c2": "sus_2", "c1": "sus_3", "c4": "sus_1", "": "sus_1"} {
		signal := decide(h, sus, "d")
		signal.Call = call
		_, err := t.store.Signal(t.Context(), signal)
		t.wantErr(err, engine.ErrRefused)
	}
	t.unchanged(h)
}

func testSignalAfterEnd(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := suspend(h, 1, "sus_1") // still suspended, but the end is set
	req.Next.Status, req.Next.End = core.RunRunning, &core.Reason{Kind: core.Cancelled}
	h = t.commit(req)
	for _, signal := range []engine.SignalRequest{decide(h, "sus_1", "d1"), say(h, "m1")} {
		w, err := t.store.Signal(t.Context(), signal)
		t.wantErr(err, engine.ErrRefused)
		t.equal("head that refused", w.Head, h)
	}
	t.unchanged(h)
}

func testSignalUnknown(t *storeTest) {
	h := t.waiting(thread)
	nowhere := say(created("thr_nobody"), "m1")
	w, err := t.store.Signal(t.Context(), nowhere)
	t.wantErr(err, engine.ErrRefused)
	t.equal("head", w.Head, core.Head{})
	other := say(h, "m1")
	other.Run = "run_a_other"
	w, err = t.store.Signal(t.Context(), other)
	t.wantErr(err, engine.ErrRefused)
	t.equal("head", w.Head, h)
	foreign := say(h, "m1")
	foreign.Tenant = "another tenant"
	_, err = t.store.Signal(t.Context(), foreign)
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(h)
}

func keyed(req engine.SignalRequest, key string) engine.SignalRequest {
	req.Key = &engine.Key{Tenant: req.Tenant, Key: key, Run: req.Run, Digest: "digest of " + key}
	return req
}

func testMessageKey(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := keyed(say(h, "m1"), "m1")
	h = t.signal(req)
	_, err := t.store.Signal(t.Context(), req)
	t.keyTaken(err, *req.Key)
	h = t.commit(next(h, 1, "drained"))
	_, err = t.store.Signal(t.Context(), req)
	t.keyTaken(err, *req.Key)
	t.unchanged(h)
}

func testMessageAtomic(t *storeTest) {
	h := t.waiting(thread)
	refused := keyed(say(h, "m1"), "m1")
	refused.Run = "run_a_other"
	_, err := t.store.Signal(t.Context(), refused)
	t.wantErr(err, engine.ErrRefused)
	t.signal(keyed(say(h, "m1"), "m1"))
}

func testInboxFull(t *storeTest) {
	h := t.waiting(thread)
	limited := func(key string) engine.SignalRequest {
		req := say(h, key)
		req.MaxMessages = 2
		return req
	}
	t.signal(limited("m1"))
	full := t.signal(limited("m2"))
	w, err := t.store.Signal(t.Context(), limited("m3"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused", w.Head, full)
	t.unchanged(full)
	t.signal(decide(h, "sus_1", "d1")) // has no limit
}

func testNobodyWaits(t *storeTest) {
	h := t.waiting(thread)
	req := say(h, "m1")
	req.NobodyWaits = true
	_, err := t.store.Signal(t.Context(), req)
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(h)
	free := t.start("thr_b")
	req = say(free, "m1")
	req.NobodyWaits = true
	t.signal(req)
}

func testSignalsTogether(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	for i, err := range Together(50, func(i int) error {
		_, err := t.store.Signal(t.Context(), say(h, numbered("m", i)))
		return err
	}) {
		if err != nil {
			t.Errorf("number %d: %v", i, err)
		}
	}
	if got := t.load(h); len(got.Inbox) != 51 || got.Sigs != h.Sigs+50 {
		t.Fatalf("%d in the inbox, sigs %d after %d", len(got.Inbox), got.Sigs, h.Sigs)
	}
}

func testCancelTwice(t *storeTest) {
	h := t.waiting(thread)
	req := say(h, "x")
	req.InboxKey, req.Signal = core.KeyCancel, core.Signal{Kind: core.SignalCancel, By: "ann", At: 2000}
	first := t.signal(req)
	req.Signal.By = "bob"
	_, err := t.store.Signal(t.Context(), req)
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(first)
}

// late is the request that leaves an answer after the deadline of sus.
func late(h core.Head, sus, id string) engine.SignalRequest {
	signal := decision(id)
	signal.Kind = core.SignalLate
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.LateKey(sus), Signal: signal, Late: sus,
		Due: 9000}
}

// timedOut starts a thread and brings it to where the deadline of sus_1 has closed c1.
func (t *storeTest) timedOut(thread string) core.Head {
	t.Helper()
	h := t.claim(t.start(thread), "claim of "+thread, 1000)
	req := suspend(h, 1, "sus_2")
	req.Next.TimedOut = map[string]int{"sus_1": 1, `sus_"1`: 1}
	return t.commit(req)
}

func testLate(t *storeTest) {
	h := t.timedOut(thread)
	for _, sus := range []string{"sus_2", "sus_9", "sus"} {
		_, err := t.store.Signal(t.Context(), late(h, sus, "d1"))
		t.wantErr(err, engine.ErrRefused)
		t.unchanged(h)
	}
	got := t.signal(late(h, "sus_1", "d1"))
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+1, 9000
	want.Inbox = map[string]core.Signal{core.LateKey("sus_1"): late(h, "sus_1", "d1").Signal}
	t.equal("head", got, want)
	w, err := t.store.Signal(t.Context(), late(h, "sus_1", "d2"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused", w.Head, want)
	t.signal(late(h, `sus_"1`, "d3"))

	closing := finish(t.claim(t.load(h), "w2", 3000), 1)
	closing.Next.TimedOut = nil
	done := t.commit(closing)
	_, err = t.store.Signal(t.Context(), late(h, "sus_1", "d4"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(done)
}

func testLateRace(t *storeTest) {
	h := t.timedOut(thread)
	winners := t.winners(Together(32, func(i int) error {
		_, err := t.store.Signal(t.Context(), late(h, "sus_1", numbered("d", i)))
		return err
	}), engine.ErrRefused)
	if got := t.load(h); len(winners) != 1 || got.Inbox[core.LateKey("sus_1")].ID != numbered("d", winners[0]) {
		t.Fatalf("winners %v, inbox %v", winners, got.Inbox)
	}
}

// interrupt is the request that asks h's run to pause, once for each id.
func interrupt(h core.Head, id string) engine.SignalRequest {
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.KeyPause,
		Signal: core.Signal{Kind: core.SignalPause, ID: id, At: 2000}, Due: 9000,
		Key: &engine.Key{Tenant: h.Tenant, Key: "interrupt:" + h.Run + ":" + id, Run: h.Run, Digest: id, Expires: 1 << 40}}
}

func testInterrupt(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	stored := t.signal(interrupt(h, "i1"))
	_, err := t.store.Signal(t.Context(), interrupt(h, "i2"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(stored)

	req := next(stored, 1, "paused")
	req.Drained = []string{core.KeyPause}
	drained := t.commit(req)
	t.interruptTaken(drained, "i1")
	t.interruptTaken(t.signal(interrupt(h, "i2")), "i1")

	done := t.done("thr_b")
	_, err = t.store.Signal(t.Context(), interrupt(done, "i1"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(done)
}

// interruptTaken repeats an interrupt, which the store must refuse: it has a record of the first.
func (t *storeTest) interruptTaken(h core.Head, id string) {
	t.Helper()
	var taken *engine.KeyTakenError
	if _, err := t.store.Signal(t.Context(), interrupt(h, id)); !errors.As(err, &taken) || taken.Key.Digest != id {
		t.Fatalf("a repeat of interrupt %s: %v", id, err)
	}
	t.unchanged(h)
}

// both suspends c1 on sus_1 and c2 on sus_2.
func (t *storeTest) both() core.Head {
	t.Helper()
	h := t.claim(t.start(thread), "w1", 1000)
	req := suspend(h, 1, "sus_1")
	req.Next.Calls["c2"] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval, Sus: "sus_2", Suspensions: 1}}
	return t.commit(req)
}

// decideBoth is the request that answers c1 and c2 of h, all or none.
func decideBoth(h core.Head) engine.SignalRequest {
	req := decide(h, "sus_1", "d1")
	second := decision("d2")
	second.Call = "c2"
	req.Together = []engine.Answer{{Signal: second, Call: "c2", Suspension: "sus_2"}}
	return req
}

func testTogether(t *storeTest) {
	h := t.both()
	got := t.signal(decideBoth(h))
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+1, 9000
	want.Inbox["sus_1"], want.Inbox["sus_2"] = decideBoth(h).Signal, decideBoth(h).Together[0].Signal
	t.equal("head", got, want)
	t.unchanged(want)
	w, err := t.store.Signal(t.Context(), decideBoth(h))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused the repeat", w.Head, want)
}

func testTogetherRefused(t *storeTest) {
	h := t.both()
	for name, spoil := range map[string]func(*engine.SignalRequest){
		"the first one's suspension is old":  func(r *engine.SignalRequest) { r.Suspension, r.InboxKey = "sus_0", "sus_0" },
		"the second one's suspension is old": func(r *engine.SignalRequest) { r.Together[0].Suspension = "sus_0" },
		"the second one's call is not there": func(r *engine.SignalRequest) { r.Together[0].Call = "c9" },
		"the run is another":                 func(r *engine.SignalRequest) { r.Run = "run_a_other" },
	} {
		req := decideBoth(h)
		spoil(&req)
		w, err := t.store.Signal(t.Context(), req)
		t.wantErr(err, engine.ErrRefused)
		t.equal("head that refused, since "+name, w.Head, h)
		t.unchanged(h)
	}
	second := decide(h, "sus_2", "d3")
	second.Call, second.Signal.Call = "c2", "c2"
	h = t.signal(second)
	w, err := t.store.Signal(t.Context(), decideBoth(h))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused, since one was decided", w.Head, h)
	t.unchanged(h)
}
