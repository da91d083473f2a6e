package local

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestTheControlOfTheProgramCancelsRuns(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(allowed)
	o := r.options()
	var about atomic.Pointer[engine.RunRef]
	o.Control.IsCancelled = func(_ context.Context, run engine.RunRef) (bool, error) {
		about.Store(&run)
		return true, nil
	}
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "done")
	if *run.Reason != "cancelled" || paid.Load() != 0 {
		t.Errorf("paid %d times: %+v", paid.Load(), run)
	}
	if got := about.Load(); got == nil || got.Run != run.ID || got.Agent != "desk" {
		t.Errorf("asked about %+v", got)
	}
}

func TestARunGoesOnUnderAControlThatFails(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(allowed)
	o := r.options()
	o.Control.ShouldYield = func(context.Context, engine.RunRef) (bool, error) { panic("no luck") }
	s := r.startWith(o)
	if run := s.await(t, s.begin(t).ID, "done"); *run.Reason != "natural_end" || paid.Load() != 1 {
		t.Errorf("paid %d times: %+v", paid.Load(), run)
	}
	r.log.await(t, "a run control gave no answer")
}
