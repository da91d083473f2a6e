package frontend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

var yes = wire.Decision{Action: "resume"}

func TestDecisionIsStoredOnce(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)

	a, err := x.decide(run.ID, sus, yes)
	x.want(a, err, "accepted")
	if a.CallID != "c1" || !strings.HasPrefix(a.DecisionID, "dec_") {
		t.Errorf("answer %+v", a)
	}
	if got := x.head(run.ThreadID); got.Due == 0 || len(got.Inbox) != 1 {
		t.Errorf("due %d, inbox %v: the sweep would not find it", got.Due, got.Inbox)
	}
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB5 the same answer twice", run.ID, sus, yes, "same")
		x.decides(t, "C124 the same by the call's id", run.ID, "c1", yes, "same")
		x.decides(t, "C124 a different one", run.ID, sus, wire.Decision{Action: "cancel"}, "already_decided")
	})

	x.worker.Drain(run.ID)
	x.decides(t, "C116 a second, different decision", run.ID, sus, wire.Decision{Action: "cancel"}, "already_decided")
	x.decides(t, "C115 a late duplicate", run.ID, sus, yes, "same")

	x.worker.Finish(run.ID, "refunded")
	x.decides(t, "H24 the same after the run is done", run.ID, sus, yes, "same")
	x.decides(t, "H24 another after the run is done", run.ID, "c1", wire.Decision{Action: "cancel"}, "already_decided")

	if _, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"and now?"`)}); err != nil {
		t.Fatal(err)
	}
	x.decides(t, "H24 the same once another run has the thread", run.ID, sus, yes, "same")
}

// decides decides in a subtest.
func (x *fixture) decides(t *testing.T, name, run, target string, d wire.Decision, want string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		d.Target = target
		a, err := x.Decide(x.t.Context(), anna, run, d)
		if got := answered(a, err); got != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	})
}

func TestTheWinnerIsShown(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindClient)
	long, _ := json.Marshal(strings.Repeat("long ", 400))
	first := wire.Decision{DecisionID: "d1", Result: long}
	a, err := x.decide(run.ID, sus, first)
	x.want(a, err, "accepted")

	check := func(when string) {
		t.Helper()
		_, err := x.decide(run.ID, sus, wire.Decision{DecisionID: "d2", Result: []byte(`"mine"`)})
		e := x.wantCode(err, refusal.CodeAlreadyDecided)
		if e.Same == nil || *e.Same || e.Winner == nil || e.Winner.DecisionID != "d1" || string(e.Winner.Result) != string(long) {
			t.Errorf("%s: same %v, winner %+v", when, e.Same, e.Winner)
		}
	}
	check("while it waits beside the head")
	x.worker.Drain(run.ID)
	check("once it is in the journal")

	_, err = x.decide(run.ID, sus, wire.Decision{DecisionID: "d1", Result: []byte(`"other content"`)})
	x.wantCode(err, refusal.CodeAlreadyDecided)
}

func TestADecisionIDWithOtherContentIsNotTheSameDecision(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second wire.Decision
	}{
		{"a no after a yes", wire.Decision{Action: "resume"}, wire.Decision{Action: "cancel"}},
		{"a yes after a no", wire.Decision{Action: "cancel"}, wire.Decision{Action: "resume"}},
		{"other arguments", wire.Decision{Action: "resume", Arguments: []byte(`{"amount":5}`)}, wire.Decision{Action: "resume", Arguments: []byte(`{"amount":500}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newFixture(t, nil)
			run, sus := x.waiting(core.KindApproval)
			c.first.DecisionID, c.second.DecisionID = "ticket-7", "ticket-7"
			a, err := x.decide(run.ID, sus, c.first)
			x.want(a, err, "accepted")
			refused := func(when string) {
				t.Helper()
				x.unchanged(run.ThreadID, func() {
					_, err := x.decide(run.ID, sus, c.second)
					e := x.wantCode(err, refusal.CodeAlreadyDecided)
					if e.Same == nil || *e.Same || e.Winner == nil || e.Winner.Action != c.first.Action {
						t.Errorf("%s: same %v, winner %+v", when, e.Same, e.Winner)
					}
				})
			}
			refused("while the first is in the inbox")
			x.worker.Drain(run.ID)
			refused("once the first is in the journal")
		})
	}
}

func TestHundredDecisionsAtOnce(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	var mu sync.Mutex
	counts, winners := map[string]int{}, map[string]bool{}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			a, err := x.decide(run.ID, sus, wire.Decision{DecisionID: fmt.Sprint("d", i), Action: "resume", Reason: fmt.Sprint(i)})
			mu.Lock()
			defer mu.Unlock()
			counts[answered(a, err)]++
			var e *refusal.Error
			if errors.As(err, &e) && e.Winner != nil {
				winners[e.Winner.DecisionID] = true
			} else {
				winners[a.DecisionID] = true
			}
		})
	}
	wg.Wait()
	if counts["accepted"] != 1 || counts["already_decided"] != 99 || len(winners) != 1 {
		t.Errorf("answers %v, winners %v", counts, winners)
	}
}

func TestTargets(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	c1 := frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval}
	sus := x.worker.Suspend(run.ID, c1, frontendtest.Call{ID: "call_keep", Tool: "refund", Kind: core.KindApproval})
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "C79 C80 HB14 an unknown call", run.ID, "nonexistent", yes, "call_not_found")
		x.decides(t, "HB10 an unknown suspension", run.ID, "sus_2_zzzzzzzz", yes, "call_not_found")
		x.decides(t, "a suspension of a segment that is not there", run.ID, "sus_zz_zzzzzzzz", yes, "call_not_found")
		x.decides(t, "C199 an unknown run", "run_nobody_0", sus["c1"], yes, "run_not_found")
		x.decides(t, "C199 no run id at all", "nonsense", sus["c1"], yes, "run_not_found")
		x.decides(t, "C125 a bad action comes before the look-up", "run_nobody_0", "x", wire.Decision{Action: "invalid_action"}, "bad_action")
		x.decides(t, "no target", run.ID, "", yes, "invalid_request")
	})
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "waiting" || got.Reason != nil || len(got.Pending) != 2 {
		t.Fatalf("C80 run %+v, %v", got, err)
	}
	_, err = x.Decide(t.Context(), frontend.Caller{Tenant: "other"}, run.ID, wire.Decision{Target: sus["c1"], Action: "resume"})
	x.wantCode(err, refusal.CodeRunNotFound)

	x.decides(t, "C78 the call's id while it was suspended once", run.ID, "c1", yes, "accepted")
	x.worker.Drain(run.ID)
	x.decides(t, "the other call", run.ID, sus["call_keep"], yes, "accepted")
	second := x.worker.Resuspend(run.ID, c1)
	x.decides(t, "C78 the call's id after a second suspension", run.ID, "c1", yes, "suspension_id_required")
	x.decides(t, "HB10 the older suspension, the same answer", run.ID, sus["c1"], yes, "same")
	x.decides(t, "HB10 the older suspension, another answer", run.ID, sus["c1"], wire.Decision{Action: "cancel"}, "already_decided")
	x.decides(t, "C78 the newest suspension", run.ID, second, yes, "accepted")
}

func TestAnOlderSuspensionThatNobodyAnsweredIsStale(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindInput)
	// A message wakes the run, and the tool asks again.
	if _, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"hm"`)}); err != nil {
		t.Fatal(err)
	}
	x.worker.Resuspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindInput})
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB10", run.ID, sus, wire.Decision{Result: []byte(`"x"`)}, "stale_suspension")
	})
}

func TestCallsThatDoNotWait(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Ask(run.ID, frontendtest.Call{ID: "c1", Tool: "refund"})
	x.decides(t, "C104 a decision before the call is suspended", run.ID, "c1", yes, "not_suspended")

	sus := x.worker.Resuspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	if _, err := x.Cancel(t.Context(), anna, run.ID); err != nil {
		t.Fatal(err)
	}
	x.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "C82 HB16 the run ended with the call unanswered", run.ID, sus, yes, "run_done")
		x.decides(t, "C82 by the call's id", run.ID, "c1", yes, "run_done")
	})
	s, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"again"`)})
	if err != nil {
		t.Fatal(err)
	}
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB15 the run has lost its place to another", run.ID, sus, yes, "run_done")
		x.decides(t, "HB15 the new run has no such call", s.Run.ID, sus, yes, "call_not_found")
		x.decides(t, "HB15 by the call's id", s.Run.ID, "c1", yes, "call_not_found")
	})
}

func TestAnswersOfTheWrongKindStoreNothing(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Suspend(run.ID,
		frontendtest.Call{ID: "ask", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "client", Tool: "camera", Kind: core.KindClient},
		frontendtest.Call{ID: "input", Tool: "ask_user", Kind: core.KindInput, Schema: schema},
		frontendtest.Call{ID: "lost", Tool: "refund", Kind: core.KindUnknownOutcome})
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB13 an approval for a client call", run.ID, "client", wire.Decision{Result: []byte(`{"approved":true}`)}, "wrong_kind")
		x.decides(t, "C120 an unclear word", run.ID, "ask", wire.Decision{Result: []byte(`"nope"`)}, "unclear_decision")
		x.decides(t, "nothing said", run.ID, "lost", wire.Decision{}, "unclear_decision")
		x.decides(t, "against the schema", run.ID, "input", wire.Decision{Result: []byte(`{"color":7}`)}, "schema_mismatch")
	})
	x.decides(t, "C75 an answer that fits the schema", run.ID, "input", wire.Decision{Result: []byte(`{"color":"red"}`)}, "accepted")
}

// The journal holds what was read from loose answers, whatever form they came in.
func TestLooseAnswersAreStoredAsDecisions(t *testing.T) {
	for name, tt := range map[string]struct {
		d      wire.Decision
		action core.ResumeAction
		reason string
	}{
		"C117 approved false beside resume":  {wire.Decision{Action: "resume", Result: []byte(`{"approved": false}`)}, core.ActionCancel, ""},
		"C118 true":                          {wire.Decision{Result: []byte(`true`)}, core.ActionResume, ""},
		"C118 false":                         {wire.Decision{Result: []byte(`false`)}, core.ActionCancel, ""},
		"C119 a denial word":                 {wire.Decision{Result: []byte(`" Denied "`)}, core.ActionCancel, ""},
		"C120 an approval word":              {wire.Decision{Result: []byte(`"approved"`)}, core.ActionResume, ""},
		"C122 a flag":                        {wire.Decision{Result: []byte(`{"denied":true}`)}, core.ActionCancel, ""},
		"C123 a reason":                      {wire.Decision{Action: "cancel", Result: []byte(`"not allowed"`)}, core.ActionCancel, "not allowed"},
		"HB12 an error counts as not wanted": {wire.Decision{Error: "no"}, core.ActionCancel, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			run, sus := x.waiting(core.KindApproval)
			a, err := x.decide(run.ID, sus, tt.d)
			x.want(a, err, "accepted")
			s := x.head(run.ThreadID).Inbox[sus]
			var r core.Resume
			if err := json.Unmarshal(s.Value, &r); err != nil {
				t.Fatal(err)
			}
			if r.Action != tt.action || r.Reason != tt.reason || s.Call != "c1" || s.By != "anna" || r.UpdatedAt == 0 {
				t.Errorf("signal %+v, decision %+v", s, r)
			}
		})
	}
}

func TestADecisionDrainedWithACancelIsShownAsNotApplied(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	if _, err := x.Cancel(t.Context(), anna, run.ID); err != nil {
		t.Fatal(err)
	}
	a, err := x.decide(run.ID, sus, yes)
	x.want(a, err, "accepted")
	x.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	a, err = x.decide(run.ID, sus, yes)
	x.want(a, err, "same")
	if a.Applied == nil || *a.Applied {
		t.Errorf("HF2 applied %v, want false", a.Applied)
	}
}

func TestAnotherProcessTakesTheDecision(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	other := x.over(openStore(t, x.path, x), nil)
	t.Run("C200 a waiting run in another process", func(t *testing.T) {
		a, err := other.Decide(t.Context(), anna, run.ID, wire.Decision{Target: sus, Action: "resume"})
		x.want(a, err, "accepted")
	})
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "running" || len(got.Pending) != 0 {
		t.Errorf("status %s, %d pending, %v; the answered call must not be shown", got.Status, len(got.Pending), err)
	}
}

func TestAStoreThatDoesNotAnswer(t *testing.T) {
	var broken *flaky
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		broken = &flaky{Store: s}
		return broken
	})
	run, sus := x.waiting(core.KindApproval)
	t.Run("HB25 the store fails before anything is committed", func(t *testing.T) {
		broken.fail("signal", 100, false)
		_, err := x.decide(run.ID, sus, yes)
		if e := x.wantCode(err, refusal.CodeUnavailable); e.RetryAfter == 0 || !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("error %+v", e)
		}
		broken.fail("signal", 0, false)
		a, err := x.decide(run.ID, sus, yes)
		x.want(a, err, "accepted")
	})
	t.Run("HB27 the answer of an accepted decision is lost", func(t *testing.T) {
		x := newFixture(t, func(s frontend.Store) frontend.Store {
			broken = &flaky{Store: s}
			return broken
		})
		run, sus := x.waiting(core.KindApproval)
		broken.fail("signal", 1, true)
		a, err := x.decide(run.ID, sus, yes)
		x.want(a, err, "same")
		if got := x.head(run.ThreadID); len(got.Inbox) != 1 {
			t.Errorf("inbox %v", got.Inbox)
		}
	})
}

func TestAWakeUpThatCannotBeSentIsNoError(t *testing.T) {
	x := newFixture(t, nil)
	x.waker.Err = engine.ErrUnavailable
	run, sus := x.waiting(core.KindApproval)
	a, err := x.decide(run.ID, sus, yes)
	x.want(a, err, "accepted")
	if due := x.head(run.ThreadID).Due; due == 0 {
		t.Error("nothing would wake the run")
	}
}
