package frontend_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

var crashed = core.Reason{Kind: core.Failed, Code: "crash_loop"}

// failed starts a run that ends in error after a step.
func (x *fixture) failed() wire.Run {
	x.t.Helper()
	no := false
	s, err := x.Start(x.t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: core.Encode("refund A-17"), Metadata: []byte(`{"order":"A-17"}`),
		Permissions: []byte(`{"deny":["refund"]}`), Memory: &no})
	if err != nil {
		x.t.Fatal(err)
	}
	x.worker.End(s.Run.ID, crashed, "I was about to")
	return s.Run
}

func TestRetry(t *testing.T) {
	x := newFixture(t, nil)
	run := x.failed()
	old := x.head(run.ThreadID)
	s, err := x.Retry(t.Context(), anna, run.ID, "")
	if err != nil || !s.New || s.Run.ID == run.ID || s.Run.ThreadID != run.ThreadID || s.Run.RetryOf == nil || *s.Run.RetryOf != run.ID {
		t.Fatalf("%+v, %v", s, err)
	}
	t.Run("HF13 a retry is a new run with fresh budgets", func(t *testing.T) {
		h := x.head(run.ThreadID)
		if h.Counters != (core.Counters{}) || h.End != nil || h.Status != core.RunCreated || h.Seq != old.Seq || h.Seq0 != old.Seq {
			t.Errorf("head %+v", h)
		}
		input := h.Inbox[core.KeyStart]
		var parts []core.Part
		if err := json.Unmarshal(input.Value, &parts); err != nil || len(parts) != 0 || input.Kind != core.SignalStart || len(h.Inbox) != 1 {
			t.Errorf("inbox %+v, %v", h.Inbox, err)
		}
		if string(h.Narrow) != `{"deny":["refund"]}` || !h.NoMemory || string(h.Metadata) != `{"order":"A-17"}` {
			t.Errorf("what the first run was started with is gone: %s, %v, %s", h.Narrow, h.NoMemory, h.Metadata)
		}
	})
	t.Run("done stays done", func(t *testing.T) {
		got, err := x.Run(t.Context(), anna, run.ID)
		if err != nil || got.Status != "done" || got.Error == nil || got.RetryOf != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	again := func(when string) {
		t.Helper()
		x.unchanged(run.ThreadID, func() {
			again, err := x.Retry(t.Context(), anna, run.ID, "")
			if err != nil || again.New || again.Run.ID != s.Run.ID {
				t.Errorf("H31 %s: %+v, %v", when, again, err)
			}
			_, err = x.Retry(t.Context(), anna, run.ID, "another key")
			x.wantCode(err, refusal.CodeRunSuperseded)
		})
	}
	again("while the retry is open")
	x.worker.End(s.Run.ID, crashed, "again")
	again("when the retry has failed too")
	second, err := x.Retry(t.Context(), anna, s.Run.ID, "")
	if err != nil || !second.New || *second.Run.RetryOf != s.Run.ID {
		t.Errorf("a retry of the retry: %+v, %v", second, err)
	}
	again("when that was retried")
}

func TestWhatCannotBeRetried(t *testing.T) {
	x := newFixture(t, nil)
	refused := func(name string, run wire.Run, key string, want refusal.Code) {
		t.Helper()
		x.unchanged(run.ThreadID, func() {
			_, err := x.Retry(t.Context(), anna, run.ID, key)
			if e := x.wantCode(err, want); want == refusal.CodeRunOpen && e.RunID != run.ID {
				t.Errorf("%s: run %q", name, e.RunID)
			}
		})
	}
	open := x.start()
	refused("created", open, "", refusal.CodeRunOpen)
	waiting, _ := x.waiting(core.KindApproval)
	refused("waiting", waiting, "", refusal.CodeRunOpen)
	for _, end := range []core.Reason{{Kind: core.NaturalEnd}, {Kind: core.Cancelled}, {Kind: core.Blocked}} {
		run := x.start()
		x.worker.End(run.ID, end, "")
		refused(end.Kind.String(), run, "", refusal.CodeNotFailed)
	}
	failed := x.failed()
	if _, err := x.say(failed.ThreadID, "", "never mind", ""); err != nil {
		t.Fatal(err)
	}
	refused("the thread went on", failed, "", refusal.CodeRunSuperseded)

	other := x.failed()
	if _, err := x.Retry(t.Context(), anna, other.ID, "k"); err != nil {
		t.Fatal(err)
	}
	refused("the key of another run's retry", x.failed(), "k", refusal.CodeIdempotencyMismatch)
	_, err := x.Retry(t.Context(), anna, "run_nobody_0", "")
	x.wantCode(err, refusal.CodeRunNotFound)
	_, err = x.Retry(t.Context(), frontend.Caller{Tenant: "other"}, other.ID, "")
	x.wantCode(err, refusal.CodeRunNotFound)
}

func TestManyRetriesAtOnce(t *testing.T) {
	x := newFixture(t, nil)
	run := x.failed()
	var mu sync.Mutex
	runs, started := map[string]bool{}, 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			s, err := x.Retry(t.Context(), anna, run.ID, "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("H31 %v", err)
			}
			runs[s.Run.ID] = true
			if s.New {
				started++
			}
		})
	}
	wg.Wait()
	if len(runs) != 1 || started != 1 {
		t.Errorf("H31 runs %v, %d started", runs, started)
	}
}

func TestARetryWhoseAnswerIsLost(t *testing.T) {
	var broken *flaky
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		broken = &flaky{Store: s}
		return broken
	})
	run := x.failed()
	broken.fail("start", 1, true)
	s, err := x.Retry(t.Context(), anna, run.ID, "")
	if err != nil || s.Run.ID == run.ID {
		t.Errorf("HB27 %+v, %v", s, err)
	}
	if again, err := x.Retry(t.Context(), anna, run.ID, ""); err != nil || again.Run.ID != s.Run.ID {
		t.Errorf("HB27 %+v, %v", again, err)
	}
}
