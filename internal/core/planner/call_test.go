package planner

import (
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

func TestIllegalMoveIsInert(t *testing.T) {
	t.Run("C24 an illegal move changes nothing and says so", func(t *testing.T) {
		c := core.CallState{CallID: "c1", Status: core.CallSucceeded, UpdatedAt: 10}
		var illegal *core.TransitionError
		if err := c.Move(core.CallRunning, 20); !errors.As(err, &illegal) {
			t.Errorf("error %v, want a TransitionError", err)
		}
		if c.Status != core.CallSucceeded || c.UpdatedAt != 10 {
			t.Errorf("the record became %+v", c)
		}
	})
	t.Run("C25 moving one call leaves the others", func(t *testing.T) {
		d := newDraft(plans.View{Head: core.Head{Calls: map[string]core.Call{"a": {}, "b": {}, "c": {Status: core.CallSuspended}}}})
		if err := d.move("a", core.CallRunning); err != nil {
			t.Fatal(err)
		}
		if d.h.Calls["a"].Status != core.CallRunning || d.h.Calls["b"].Status != core.CallNew || d.h.Calls["c"].Status != core.CallSuspended {
			t.Errorf("calls are %+v", d.h.Calls)
		}
		if d.v.Head.Calls["a"].Status != core.CallNew {
			t.Error("the head that was looked at changed")
		}
	})
}
