package frontend_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// overdue starts a run with a call whose deadline has passed.
func (x *fixture) overdue() (run wire.Run, sus string) {
	x.t.Helper()
	run = x.start()
	return run, x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Deadline: 1})["c1"]
}

func TestAnAnswerBeforeTheDeadlineDecided(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.overdue()
	x.decides(t, "HC3 the deadline passed, and nothing was decided yet: the answer wins", run.ID, sus, yes, "accepted")
}

func TestAnAnswerAfterTheDeadlineDecided(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.overdue()
	x.worker.TimeOut(run.ID, "c1")
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HC4 what is wrong with the answer comes first", run.ID, sus, wire.Decision{Result: []byte(`"hm"`)}, "unclear_decision")
	})
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "H25 nor is an answer to another question recorded", run.ID, sus, wire.Decision{Action: "resume", Shown: "v1:00"}, "late_decision")
	})
	long := wire.Decision{DecisionID: "d1", Action: "resume", Reason: strings.Repeat("I was away. ", 100)}
	x.decides(t, "HC4 the first is recorded", run.ID, sus, long, "late_decision")
	h := x.head(run.ThreadID)
	s, ok := h.Inbox[core.LateKey(sus)]
	if !ok || s.Kind != core.SignalLate || s.Call != "c1" || s.ID != "d1" || s.Digest == "" || s.By != "anna" || s.Ref == "" || h.Due == 0 {
		t.Fatalf("H25 inbox %+v", h.Inbox)
	}
	var r core.Resume
	value, err := x.store.Payload(t.Context(), anna.Tenant, run.ThreadID, s.Ref)
	if err != nil || json.Unmarshal(value, &r) != nil || r.Reason != long.Reason || r.Action != core.ActionResume {
		t.Errorf("H25 value %s, %v", value, err)
	}
	every := func(when string) {
		t.Helper()
		x.unchanged(run.ThreadID, func() {
			x.decides(t, "H25 the same again, "+when, run.ID, sus, long, "late_decision")
			x.decides(t, "H25 another, "+when, run.ID, sus, wire.Decision{Action: "cancel"}, "late_decision")
			x.decides(t, "H25 by the call's id, "+when, run.ID, "c1", yes, "late_decision")
		})
	}
	every("before it is taken up")
	x.worker.Drain(run.ID)
	every("once it is in the journal")
	x.worker.Finish(run.ID, "done")
	every("when the run is done")
	if _, err := x.say(run.ThreadID, "", "and now?", ""); err != nil {
		t.Fatal(err)
	}
	every("when another run has the thread")
}

func TestALateAnswerAfterTheEnd(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.overdue()
	x.worker.TimeOut(run.ID, "c1")
	x.worker.Finish(run.ID, "done")
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "H25 nothing is recorded any more", run.ID, sus, yes, "late_decision")
	})
}

func TestManyLateAnswersAtOnce(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.overdue()
	x.worker.TimeOut(run.ID, "c1")
	before := x.head(run.ThreadID)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := x.decide(run.ID, sus, wire.Decision{Action: "resume", DecisionID: x.random.Text(8)})
			if answered(wire.DecisionAnswer{}, err) != "late_decision" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if h := x.head(run.ThreadID); h.Sigs != before.Sigs+1 || len(h.Inbox) != 1 {
		t.Errorf("H25 sigs %d after %d, inbox %v", h.Sigs, before.Sigs, h.Inbox)
	}
}

func TestALateAnswerTheStoreDoesNotTake(t *testing.T) {
	var broken *flaky
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		broken = &flaky{Store: s}
		return broken
	})
	run, sus := x.overdue()
	x.worker.TimeOut(run.ID, "c1")
	broken.fail("signal", 100, false)
	x.decides(t, "HB25 the store fails before anything is committed", run.ID, sus, yes, "unavailable")
	broken.fail("signal", 1, true)
	x.decides(t, "HB27 the answer of the store is lost", run.ID, sus, yes, "late_decision")
}
