package frontend_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// three is a run with three calls that wait for approval.
func (x *fixture) three() (wire.Run, []string) {
	x.t.Helper()
	run := x.start()
	var calls []frontendtest.Call
	for _, id := range []string{"c1", "c2", "c3"} {
		calls = append(calls, frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval})
	}
	sus := x.worker.Suspend(run.ID, calls...)
	return run, []string{sus["c1"], sus["c2"], sus["c3"]}
}

func together(action string, targets ...string) (batch []wire.Decision) {
	for _, target := range targets {
		batch = append(batch, wire.Decision{Target: target, Action: action})
	}
	return batch
}

func met(err error) (codes []string) {
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Code != refusal.CodeBatchRefused {
		return []string{"no batch_refused"}
	}
	for _, a := range refused.Answers {
		switch {
		case a.Err != nil:
			codes = append(codes, string(a.Err.Code))
		case a.Same:
			codes = append(codes, "same")
		default:
			codes = append(codes, "fine")
		}
	}
	return codes
}

func TestABatchIsStoredInOneWriteOrNotAtAll(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.three()
	before := x.head(run.ThreadID)
	answers, err := x.DecideTogether(t.Context(), anna, run.ID, together("resume", sus...))
	if err != nil || len(answers) != 3 || answers[2].Code != "accepted" || answers[2].CallID != "c3" || answers[0].Cursor == "" {
		t.Fatalf("%+v, %v", answers, err)
	}
	if h := x.head(run.ThreadID); h.Sigs != before.Sigs+1 || len(h.Inbox) != 3 {
		t.Errorf("%d signals and an inbox of %d after one write", h.Sigs-before.Sigs, len(h.Inbox))
	}
	x.unchanged(run.ThreadID, func() {
		answers, err = x.DecideTogether(t.Context(), anna, run.ID, together("resume", sus...))
		if err != nil || answers[1].Code != "already_decided" || answers[1].Same == nil || !*answers[1].Same {
			t.Errorf("the batch sent again: %+v, %v", answers, err)
		}
	})
	x.worker.Drain(run.ID)
	answers, err = x.DecideTogether(t.Context(), anna, run.ID, together("resume", sus...))
	if err != nil || answers[0].Applied == nil {
		t.Errorf("the batch sent again once it is taken up: %+v, %v", answers, err)
	}
}

func TestABatchOfWhichOneIsRefusedStoresNothing(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.three()
	x.decides(t, "one by itself", run.ID, sus[1], wire.Decision{Action: "cancel"}, "accepted")
	for name, tt := range map[string]struct {
		batch []wire.Decision
		want  []string
	}{
		"another was first":        {together("resume", sus...), []string{"fine", "already_decided", "fine"}},
		"one was made before":      {append(together("resume", sus[0]), together("cancel", sus[1])...), []string{"fine", "same"}},
		"one is of no call":        {together("resume", sus[0], "sus_9_nobody"), []string{"fine", "call_not_found"}},
		"one is unclear":           {append(together("resume", sus[0]), wire.Decision{Target: sus[2]}), []string{"fine", "unclear_decision"}},
		"one is about what is not": {append(together("resume", sus[0]), wire.Decision{Target: sus[2], Action: "resume", Shown: "v1:0"}), []string{"fine", "changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			x.unchanged(run.ThreadID, func() {
				_, err := x.DecideTogether(t.Context(), anna, run.ID, tt.batch)
				if got := met(err); len(got) != len(tt.want) {
					t.Fatalf("%v: %v", got, err)
				} else {
					for i := range got {
						if got[i] != tt.want[i] {
							t.Errorf("decision %d meets %s, want %s", i, got[i], tt.want[i])
						}
					}
				}
			})
		})
	}
}

func TestABatchThatCannotBe(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.three()
	for name, batch := range map[string][]wire.Decision{
		"none":                nil,
		"too many":            make([]wire.Decision, frontend.MaxBatch+1),
		"two of one":          together("resume", sus[0], sus[0]),
		"two of one, by name": together("resume", sus[0], "c1"),
	} {
		_, err := x.DecideTogether(t.Context(), anna, run.ID, batch)
		t.Run(name, func(*testing.T) { x.wantCode(err, refusal.CodeInvalid) })
	}
	_, err := x.DecideTogether(t.Context(), anna, "run_nobody_0", together("resume", sus[0]))
	x.wantCode(err, refusal.CodeRunNotFound)
}

func TestABatchAndSingleDecisionsAtOnce(t *testing.T) {
	for range 20 {
		x := newFixture(t, nil)
		run, sus := x.three()
		var wg sync.WaitGroup
		var batchErr error
		single := make([]error, 3)
		wg.Go(func() { _, batchErr = x.DecideTogether(t.Context(), anna, run.ID, together("resume", sus...)) })
		for i := range sus {
			wg.Go(func() { _, single[i] = x.decide(run.ID, sus[i], wire.Decision{Action: "cancel"}) })
		}
		wg.Wait()
		h := x.head(run.ThreadID)
		for i := range sus {
			approved := h.Inbox[sus[i]].ID != "" && single[i] != nil
			if approved != (batchErr == nil) {
				t.Errorf("the batch came to %v, the decision on call %d to %v, and the inbox has %+v", batchErr, i, single[i], h.Inbox)
			}
		}
	}
}
