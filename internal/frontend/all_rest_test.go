package frontend_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// A run with two below, one of which asks, rests once the other has nothing to do.
func TestATreeRestsOnceNoneOfItsRunsHasAnythingToDo(t *testing.T) {
	for name, c := range map[string]struct {
		other func(x *fixture, other string)
		rests bool
	}{
		"was not taken up":      {func(*fixture, string) {}, false},
		"works":                 {func(x *fixture, other string) { x.worker.Drain(other) }, false},
		"waits for its model":   {func(x *fixture, other string) { x.worker.Down(other, core.Outage{Code: "model_unavailable"}, 1) }, false},
		"asks, with a deadline": {func(x *fixture, other string) { x.worker.Suspend(other, deadline()) }, true},
		"is interrupted": {func(x *fixture, other string) {
			x.interrupt(other)
			x.worker.Suspend(other, frontendtest.Call{ID: "i", Kind: core.KindInterrupt})
		}, true},
		"is interrupted, and has yet to see it": {func(x *fixture, other string) { x.worker.Suspend(other, approval("c")); x.interrupt(other) }, false},
		"has ended, and its end was lost":       {func(x *fixture, other string) { x.worker.Finish(other, "done") }, true},
		"has ended, and its end is not read":    {func(x *fixture, other string) { x.worker.Finish(other, "done"); x.tellParent(other) }, false},
		"waits for a run that works":            {func(x *fixture, other string) { x.worker.Launch(other, agentCall("below")) }, false},
		"waits for a run that asks": {func(x *fixture, other string) {
			x.worker.Suspend(x.worker.Launch(other, agentCall("below"))["below"], approval("c"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			root := x.start().ID
			below := x.worker.Launch(root, agentCall("a"), agentCall("b"))
			x.worker.Suspend(below["a"], approval("c"))
			c.other(x, below["b"])
			if _, _, rests := x.readToRest(root, ""); rests != c.rests {
				t.Errorf("rests: %v", rests)
			}
			if run, err := x.AwaitTree(t.Context(), anna, root, time.Second); err != nil || len(run.Pending) == 0 {
				t.Errorf("%+v, %v", run.Pending, err)
			}
		})
	}
}

func deadline() frontendtest.Call {
	call := approval("c")
	call.Deadline = 1
	return call
}

func (x *fixture) interrupt(run string) {
	x.t.Helper()
	if _, err := x.Interrupt(x.t.Context(), anna, run, ""); err != nil {
		x.t.Fatal(err)
	}
}

// A run below that can't be read holds up no other, and is no question either.
func TestAnUnreadableRunHoldsUpNoTree(t *testing.T) {
	store := &unreadableThread{head: true}
	x := newFixture(t, func(s frontend.Store) frontend.Store { store.Store = s; return store })
	root := x.start().ID
	below := x.worker.Launch(root, agentCall("a"), agentCall("b"))
	store.thread = threadOf(below["b"])
	for asks := range 2 {
		p, err := x.Find(t.Context(), anna.Tenant, root)
		if err != nil {
			t.Fatal(err)
		}
		if rests, err := x.AllRest(t.Context(), p); err != nil || rests != (asks == 1) {
			t.Errorf("asks %d: %v, %v", asks, rests, err)
		}
		if asks == 0 {
			x.worker.Suspend(below["a"], approval("c"))
		}
	}
}

// Without runs below, a look costs no read.
func TestARunAloneRestsWithoutAnotherRead(t *testing.T) {
	s := &between{}
	x := newFixture(t, func(inner frontend.Store) frontend.Store { s.Store = inner; return s })
	run, _ := x.waiting(core.KindApproval)
	s.loads = 0
	if _, _, rests := x.readToRest(run.ID, ""); !rests || s.loads != 1 {
		t.Errorf("rests %v after %d reads", rests, s.loads)
	}
}
