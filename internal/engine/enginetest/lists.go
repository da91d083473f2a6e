package enginetest

import (
	"context"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

var overdueCases = []storeCase{
	{"what is due now is taken, what is due later is not", testOverdueBoundary},
	{"H18 what was taken has moved, so that the next is reached", testOverdueMoves},
	{"H18 sweeps at once take no entry twice", testOverdueRace},
	{"H18 a sweep takes everything that is due, page after page", testSweepToTheEnd},
	{"H18 what is not woken comes back a period later, and the others are woken", testSweepPastAFailure},
	{"H18 a sweep whose time is over moves nothing that it does not wake", testSweepCutOff},
}

// sent keeps the wake-ups of a sweep, but those of one thread.
type sent struct {
	refuses string
	threads []string
}

func (s *sent) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	if w.Thread == s.refuses {
		return engine.ErrUnavailable
	}
	s.threads = append(s.threads, w.Thread)
	return nil
}

func (t *storeTest) dueThreads(n int) (threads []string) {
	for i := range n {
		threads = append(threads, t.start(numbered("thr_", i)).Thread)
	}
	slices.Sort(threads)
	return threads
}

func testSweepToTheEnd(t *storeTest) {
	want := t.dueThreads(205)
	var got sent
	t.must(sweeper.Sweep(t.Context(), t.store, &got, AtMilli(6000), 5*time.Second))
	slices.Sort(got.threads)
	t.equal("woken", got.threads, want)
}

func testSweepPastAFailure(t *storeTest) {
	all := t.dueThreads(12)
	got := sent{refuses: all[0]}
	err := sweeper.Sweep(t.Context(), t.store, &got, AtMilli(6000), 5*time.Second)
	t.wantErr(err, engine.ErrUnavailable)
	slices.Sort(got.threads)
	t.equal("woken", got.threads, all[1:])
	again, err := t.store.TakeOverdue(t.Context(), 11000, 16000, 100)
	t.must(err)
	t.equal("due again", sortedThreads(again), all)
}

func testSweepCutOff(t *storeTest) {
	want := t.dueThreads(12)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	taken, err := t.store.TakeOverdue(ctx, 6000, 11000, 5)
	t.wantErr(err, engine.ErrUnavailable)
	rest, err := t.store.TakeOverdue(t.Context(), 6000, 11000, 100)
	t.must(err)
	t.equal("taken by both", sortedThreads(append(taken, rest...)), want)
}

func testOverdueBoundary(t *storeTest) {
	for name, due := range map[string]int64{"thr_early": 4999, "thr_now": 5000, "thr_late": 5001, "thr_never": 0} {
		_, err := t.store.Start(t.Context(), engine.StartRequest{Head: created(name), Due: due})
		t.must(err)
	}
	taken, err := t.store.TakeOverdue(t.Context(), 5000, 10000, 10)
	t.must(err)
	t.equal("taken", sortedThreads(taken), []string{"thr_early", "thr_now"})
	if got := t.load(created("thr_now")); got.Due != 10000 || got.Rev != 0 {
		t.Fatalf("due %d, rev %d", got.Due, got.Rev)
	}
}

func sortedThreads(ws []engine.Wakeup) (threads []string) {
	for _, w := range ws {
		threads = append(threads, w.Thread)
	}
	slices.Sort(threads)
	return threads
}

func testOverdueMoves(t *storeTest) {
	var want, got []string
	for i := range 10 {
		want = append(want, t.start(numbered("thr_", i)).Thread)
	}
	for range 4 {
		taken, err := t.store.TakeOverdue(t.Context(), 6000, 11000, 3)
		t.must(err)
		got = append(got, sortedThreads(taken)...)
	}
	slices.Sort(got)
	t.equal("taken in four sweeps", got, want)
	again, err := t.store.TakeOverdue(t.Context(), 11000, 16000, 100)
	t.must(err)
	t.equal("taken when they are due again", sortedThreads(again), want)
}

func testOverdueRace(t *storeTest) {
	var want, got []string
	for i := range 40 {
		want = append(want, t.start(numbered("thr_", i)).Thread)
	}
	taken := make([][]engine.Wakeup, 8)
	for _, err := range Together(len(taken), func(i int) (err error) {
		taken[i], err = t.store.TakeOverdue(t.Context(), 6000, 11000, 10)
		return err
	}) {
		t.must(err)
	}
	for _, ws := range taken {
		got = append(got, sortedThreads(ws)...)
	}
	slices.Sort(got)
	t.equal("taken", got, want)
}

var listCases = []storeCase{
	{"runs come newest first, page by page, each once", testRunsPages},
	{"a list of runs can begin after any run and at any time", testRunsBehind},
	{"runs of a thread are its own, archived ones too", testRunsOfThread},
	{"a waiting run with a signal is listed as running", testRunsVisible},
	{"approvals come oldest first, page by page, and leave when answered", testApprovals},
	{"an empty list has no cursor", testListsEmpty},
	{"a cursor of no list, or of the other one, is refused", testForeignCursor},
}

// runs reads all pages.
func (t *storeTest) runs(thread string, limit int) []string {
	t.Helper()
	return t.runsFrom(thread, "", limit)
}

// runsFrom reads all pages behind a cursor.
func (t *storeTest) runsFrom(thread, cursor string, limit int) (runs []string) {
	t.Helper()
	for {
		page, next, err := t.store.Runs(t.Context(), tenant, thread, cursor, limit)
		t.must(err)
		if len(page) > limit {
			t.Fatalf("%d on a page of %d", len(page), limit)
		}
		for _, r := range page {
			runs = append(runs, r.Run)
		}
		if cursor = next; cursor == "" {
			return runs
		}
	}
}

func testRunsPages(t *storeTest) {
	var want []string
	for i := range 12 {
		h := created(numbered("thr_", i))
		h.Born = 1000 + int64(i/6) // many of one moment
		h = t.startHead(h)
		want = append(want, h.Run)
		if i%3 == 0 {
			h = t.commit(finish(t.claim(h, "w", 1000), 1))
			req := succeed(h, h.Run+"x")
			req.Head.Born = h.Born
			_, err := t.store.Start(t.Context(), req)
			t.must(err)
			want = append(want, h.Run+"x")
		}
	}
	foreign := created("thr_foreign")
	foreign.Tenant = "another tenant"
	t.startHead(foreign)
	slices.Reverse(want)
	for _, limit := range []int{1, 2, 5, 15, 16, 17, 100} {
		t.equal("runs", t.runs("", limit), want)
	}
}

func testRunsBehind(t *storeTest) {
	all := []string{}
	last := t.startHead(bornAt(created("thr_0"), 1000))
	all = append(all, last.Run)
	for i := 1; i < 9; i++ {
		last = t.commit(finish(t.claim(last, numbered("w", i), 1000), 1))
		req := succeed(last, numbered("run_0_", i))
		req.Head.Born = 1000 + int64(i/3) // three of one moment
		w, err := t.store.Start(t.Context(), req)
		t.must(err)
		last = w.Head
		all = append(all, last.Run)
	}
	slices.Reverse(all)
	// nil for none
	newest := func(n int) []string { return append([]string(nil), all[len(all)-n:]...) }
	for _, of := range []string{"", "thr_0"} {
		for _, limit := range []int{1, 2, 100} {
			for before, want := range map[int64]int{0: 0, 1000: 0, 1001: 3, 1002: 6, 1003: 9, 253402300800000: 9} {
				t.equal("runs born before a time", t.runsFrom(of, t.store.RunsBehind(before, ""), limit), newest(want))
			}
			for i, run := range all {
				born := int64(1002 - i/3)
				t.equal("runs behind one", t.runsFrom(of, t.store.RunsBehind(born, run), limit), newest(len(all)-i-1))
			}
			t.equal("runs behind one that is not there", t.runsFrom(of, t.store.RunsBehind(1001, "run_0_003x"), limit), newest(4))
		}
	}
}

func bornAt(h core.Head, born int64) core.Head {
	h.Born = born
	return h
}

func testRunsOfThread(t *storeTest) {
	h := t.done(thread)
	t.done("thr_b")
	want := []string{h.Run}
	for i := range 3 {
		w, err := t.store.Start(t.Context(), succeed(h, numbered("run_a_", i+1)))
		t.must(err)
		h = t.commit(finish(t.claim(w.Head, numbered("w", i), 1000), 1))
		want = append(want, h.Run)
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 3, 4, 5} {
		t.equal("runs of the thread", t.runs(thread, limit), want)
	}
	t.equal("runs of no thread", t.runs("thr_nobody", 5), []string(nil))
}

func testRunsVisible(t *storeTest) {
	h := t.waiting(thread)
	status := func() core.RunStatus {
		page, _, err := t.store.Runs(t.Context(), tenant, "", "", 5)
		t.must(err)
		return page[0].Status
	}
	if got := status(); got != core.RunWaiting {
		t.Fatalf("listed as %v", got)
	}
	t.signal(decide(h, "sus_1", "d1"))
	if got := status(); got != core.RunRunning {
		t.Fatalf("listed as %v", got)
	}
}

func testApprovals(t *storeTest) {
	var want []string
	var last core.Head
	for i := range 7 {
		h := t.claim(t.start(numbered("thr_", i)), "w", 1000)
		req := suspend(h, 1, "sus_1")
		req.Next.Oldest = numbered("", i/3) // many of one moment
		last = t.commit(req)
		want = append(want, h.Thread)
	}
	t.done("thr_z")
	for _, limit := range []int{1, 3, 7, 8} {
		t.equal("threads with approvals", t.approvals(limit), want)
	}
	t.commit(finish(t.claim(t.signal(decide(last, "sus_1", "d")), "w2", 1000), 1))
	t.equal("threads after one was answered", t.approvals(3), want[:6])
}

func (t *storeTest) approvals(limit int) (threads []string) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := t.store.Approvals(t.Context(), tenant, cursor, limit)
		t.must(err)
		for _, h := range page {
			if len(h.Calls) == 0 || h.Oldest == "" {
				t.Fatalf("%s has nothing suspended", h.Thread)
			}
			threads = append(threads, h.Thread)
		}
		if cursor = next; cursor == "" {
			return threads
		}
	}
}

func testListsEmpty(t *storeTest) {
	t.equal("runs", t.runs("", 5), []string(nil))
	t.equal("approvals", t.approvals(5), []string(nil))
}

func testForeignCursor(t *storeTest) {
	t.waiting(thread)
	t.waiting("thr_b")
	_, runs, err := t.store.Runs(t.Context(), tenant, "", "", 1)
	t.must(err)
	_, approvals, err := t.store.Approvals(t.Context(), tenant, "", 1)
	t.must(err)
	for _, cursor := range []string{"?", "bm9wZQ", approvals} {
		_, _, err := t.store.Runs(t.Context(), tenant, "", cursor, 5)
		t.wantErr(err, engine.ErrRefused)
	}
	for _, cursor := range []string{"?", "bm9wZQ", runs} {
		_, _, err := t.store.Approvals(t.Context(), tenant, cursor, 5)
		t.wantErr(err, engine.ErrRefused)
	}
}

var payloadCases = []storeCase{
	{"H17 what is under a digest stays", testPayload},
}

func testPayload(t *storeTest) {
	_, err := t.store.Payload(t.Context(), tenant, thread, "d1")
	t.wantErr(err, engine.ErrNotFound)
	for _, body := range []string{"\x00\xffbytes", "other"} {
		t.must(t.store.PutPayload(t.Context(), tenant, thread, "d1", []byte(body)))
		got, err := t.store.Payload(t.Context(), tenant, thread, "d1")
		t.must(err)
		t.equal("payload", string(got), "\x00\xffbytes")
	}
	t.must(t.store.PutPayload(t.Context(), tenant, thread, "empty", nil))
	got, err := t.store.Payload(t.Context(), tenant, thread, "empty")
	t.must(err)
	t.equal("empty payload", len(got), 0)
	_, err = t.store.Payload(t.Context(), tenant, "thr_b", "d1")
	t.wantErr(err, engine.ErrNotFound)
}
