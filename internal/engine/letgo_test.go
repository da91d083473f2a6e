package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// jumping is a store after whose commit of an intent the clock is set.
type jumping struct {
	engine.Store
	jump func()
}

func (s *jumping) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	w, err := s.Store.Commit(ctx, req)
	if c, ok := req.Next.Calls["c1"]; ok && c.Status == core.CallRunning && s.jump != nil {
		s.jump()
		s.jump = nil
	}
	return w, err
}

// A clock that is an hour ahead for a moment, between an intent and its body, makes the owner give
// up. The run does not wait for the end of the lease that this leaves, and the body has not run.
func TestAMomentOfAWrongClockDoesNotCostALease(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.ask("pay")
	r.start("go")
	r.step()
	r.must(r.decide("c1", core.Resume{Action: core.ActionResume}))
	clock := &ahead{Clock: r.clock}
	r.store = &jumping{Store: r.db, jump: func() { clock.by = time.Hour }}
	r.eng = engine.New(engine.Options{Store: r.store, Waker: r.db, Agents: r, Clock: clock, Random: r.random})
	if _, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); err == nil {
		t.Fatalf("the body was begun at the end of its lease: ran %v, %+v", r.ran, r.head().Calls["c1"])
	}
	clock.by = 0
	if h := r.head(); h.Lease != 0 || h.Calls["c1"].Status != core.CallRunning {
		t.Fatalf("lease %d, call %+v", h.Lease, h.Calls["c1"])
	}
	r.step()
	if c := r.head().Calls["c1"]; c.Status != core.CallSuspended || c.Kind != core.KindUnknownOutcome || len(r.ran) != 0 {
		t.Errorf("call %+v; ran %v", c, r.ran)
	}
}
