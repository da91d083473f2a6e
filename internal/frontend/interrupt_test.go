package frontend_test

import (
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func (x *fixture) interrupted() wire.Run {
	x.t.Helper()
	run := x.start()
	if _, err := x.Interrupt(x.t.Context(), anna, run.ID, "i1"); err != nil {
		x.t.Fatal(err)
	}
	x.worker.Drain(run.ID)
	return run
}

func (x *fixture) resume(run string, req wire.ResumeRequest) (wire.DecisionAnswer, error) {
	return x.Resume(x.t.Context(), anna, run, req)
}

func TestInterruptIsStoredOnce(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	got, err := x.Interrupt(t.Context(), anna, run.ID, "i1")
	if err != nil || got.ID != run.ID {
		t.Fatal(got, err)
	}
	if s := x.head(run.ThreadID).Inbox[core.KeyPause]; s.Kind != core.SignalPause || s.ID != "i1" || s.By != "anna" || s.At == 0 {
		t.Errorf("signal %+v", s)
	}
	again := func(key string) {
		t.Helper()
		x.unchanged(run.ThreadID, func() {
			if got, err := x.Interrupt(t.Context(), anna, run.ID, key); err != nil || got.ID != run.ID {
				t.Errorf("again with %q: %+v, %v", key, got, err)
			}
		})
	}
	again("i1")
	again("i2")
	again("")
	x.worker.Drain(run.ID)
	again("i1")
	again("") // it is interrupted
	if _, err := x.resume(run.ID, wire.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Interrupt(t.Context(), anna, run.ID, ""); err != nil || len(x.head(run.ThreadID).Inbox) != 2 {
		t.Errorf("an interrupt behind a resume is not stored: %v", err)
	}
	x.worker.Drain(run.ID)
	if _, err := x.resume(run.ID, wire.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(run.ID)
	again("i1") // a late copy does not pause it again
	if _, err := x.Interrupt(t.Context(), anna, run.ID, ""); err != nil || len(x.head(run.ThreadID).Inbox) != 1 {
		t.Errorf("a new interrupt is not stored: %v", err)
	}
	x.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	_, err = x.Interrupt(t.Context(), anna, run.ID, "i9")
	x.wantCode(err, refusal.CodeRunDone)
	_, err = x.Interrupt(t.Context(), anna, "run_nobody_0", "")
	x.wantCode(err, refusal.CodeRunNotFound)
}

func TestAnInterruptedRunIsShownAsWaiting(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "waiting" || len(got.Pending) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if p := got.Pending[0]; p.Kind != "interrupt" || p.Tool != "" || string(p.Arguments) != "{}" || p.Suspension.ID == "" {
		t.Errorf("pending %+v", p)
	}
	if s, err := x.say(run.ThreadID, "", "go on, but in French", ""); err != nil || s.Run.ID != run.ID {
		t.Errorf("a message to it: %+v, %v", s, err)
	}
}

func TestResume(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	x.unchanged(run.ThreadID, func() {
		sus := x.pendingOf(run.ID)
		x.decides(t, "cancel of an interrupted run", run.ID, sus, wire.Decision{Action: "cancel"}, "wrong_kind")
		x.decides(t, "a result for it", run.ID, sus, wire.Decision{Result: []byte(`true`)}, "wrong_kind")
	})
	a, err := x.resume(run.ID, wire.ResumeRequest{Reason: "looked at it"})
	x.want(a, err, "accepted")
	x.unchanged(run.ThreadID, func() {
		a, err := x.resume(run.ID, wire.ResumeRequest{Reason: "looked at it"})
		x.want(a, err, "same")
		a, err = x.resume(run.ID, wire.ResumeRequest{Reason: "another"})
		x.want(a, err, "already_decided")
	})
	x.worker.Drain(run.ID)
	a, err = x.resume(run.ID, wire.ResumeRequest{Reason: "looked at it"})
	x.want(a, err, "not_waiting")
	_, err = x.resume("run_nobody_0", wire.ResumeRequest{})
	x.wantCode(err, refusal.CodeRunNotFound)

	other := newFixture(t, nil)
	approval, _ := other.waiting(core.KindApproval)
	other.unchanged(approval.ThreadID, func() {
		a, err := other.resume(approval.ID, wire.ResumeRequest{})
		other.want(a, err, "not_waiting")
	})
}

func (x *fixture) pendingOf(run string) string {
	x.t.Helper()
	got, err := x.Run(x.t.Context(), anna, run)
	if err != nil || len(got.Pending) != 1 {
		x.t.Fatalf("%+v, %v", got, err)
	}
	return got.Pending[0].Suspension.ID
}

func TestAResumeWithAnIDIsKnownForEver(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	req := wire.ResumeRequest{DecisionID: "d1", Reason: "fine"}
	a, err := x.resume(run.ID, req)
	x.want(a, err, "accepted")
	x.worker.Drain(run.ID)
	for range 2 {
		x.unchanged(run.ThreadID, func() {
			a, err := x.resume(run.ID, req)
			x.want(a, err, "same")
			if a.Applied == nil || !*a.Applied || a.DecisionID != "d1" || a.Target == "" {
				t.Errorf("HB27 answer %+v", a)
			}
			a, err = x.resume(run.ID, wire.ResumeRequest{DecisionID: "d1", Reason: "other"})
			if got := answered(a, err); got == "same" || got == "accepted" {
				t.Errorf("other content under one id: %s", got)
			}
		})
		if x.head(run.ThreadID).Open() {
			x.worker.Finish(run.ID, "done")
		}
	}
	_, err = x.resume(run.ID, wire.ResumeRequest{DecisionID: "d2"})
	x.wantCode(err, refusal.CodeRunDone)
}

func TestTwoResumesAtOnce(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a, err := x.resume(run.ID, wire.ResumeRequest{})
			mu.Lock()
			defer mu.Unlock()
			counts[answered(a, err)]++
		})
	}
	wg.Wait()
	t.Run("HR3 one is accepted, the others are told it is the same", func(t *testing.T) {
		if counts["accepted"] != 1 || counts["same"] != 7 {
			t.Errorf("answers %v", counts)
		}
	})
	x.worker.Drain(run.ID)
	t.Run("HR3 once it runs there is nothing to resume", func(t *testing.T) {
		_, err := x.resume(run.ID, wire.ResumeRequest{})
		x.wantCode(err, refusal.CodeNotWaiting)
	})
}

func TestAnInterruptWhoseAnswerIsLost(t *testing.T) {
	var broken *flaky
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		broken = &flaky{Store: s}
		return broken
	})
	run := x.start()
	broken.fail("signal", 1, true)
	if _, err := x.Interrupt(t.Context(), anna, run.ID, ""); err != nil {
		t.Errorf("HB27 %v", err)
	}
	broken.fail("signal", 100, false)
	_, err := x.Interrupt(t.Context(), anna, x.start().ID, "")
	x.wantCode(err, refusal.CodeUnavailable)
}

// A resume whose reply was lost is sent again after somebody else has interrupted the run anew.
func TestAResumeIsAboutTheInterruptThatItEnded(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	first, err := x.resume(run.ID, wire.ResumeRequest{DecisionID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(run.ID)
	if _, err := x.Interrupt(t.Context(), anna, run.ID, "i2"); err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(run.ID)
	again, err := x.resume(run.ID, wire.ResumeRequest{DecisionID: "r1"})
	if err != nil || again.Code == "accepted" {
		t.Errorf("the same resume, sent again: %s on %s; the first was %s on %s (%v)", again.Code, again.Target, first.Code, first.Target, err)
	}
}

// An interrupt with a key, repeated after another one.
func TestAnInterruptIsTakenUpOnce(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	for _, step := range []string{"", "i2", ""} {
		if step == "" {
			if _, err := x.resume(run.ID, wire.ResumeRequest{}); err != nil {
				t.Fatal(err)
			}
		} else if _, err := x.Interrupt(t.Context(), anna, run.ID, step); err != nil {
			t.Fatal(err)
		}
		x.worker.Drain(run.ID)
	}
	if _, err := x.Interrupt(t.Context(), anna, run.ID, "i1"); err != nil {
		t.Fatal(err)
	}
	if s, there := x.head(run.ThreadID).Inbox[core.KeyPause]; there {
		t.Errorf("i1 was taken up and resumed before; sent again it is stored again: %+v", s)
	}
}

func TestTheRepeatOfAnInterruptIsKnownAfterTheEnd(t *testing.T) {
	x := newFixture(t, nil)
	run := x.interrupted()
	if _, err := x.resume(run.ID, wire.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	x.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "")
	x.unchanged(run.ThreadID, func() {
		if got, err := x.Interrupt(t.Context(), anna, run.ID, "i1"); err != nil || got.Status != "done" {
			t.Errorf("the repeat got %v, %v", got.Status, err)
		}
		_, err := x.Interrupt(t.Context(), anna, run.ID, "i2")
		x.wantCode(err, refusal.CodeRunDone)
	})
}
