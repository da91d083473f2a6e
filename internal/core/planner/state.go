package planner

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// checkState returns why a body's writes can't be stored, or nil.
func (d *draft) checkState(ops []core.StateOp) error {
	if err := core.CheckOps(ops); err != nil {
		return err
	}
	if len(ops) > 0 && len(core.Encode(d.state.Apply(ops))) > core.MaxState+len(d.v.Supplied.State) {
		return fmt.Errorf("the state would be larger than %d bytes", core.MaxState)
	}
	return nil
}

// writeState applies writes to the draft and journals them. They are committed before any body that
// may run because of them: after a crash their writer may run again and write something else.
func (d *draft) writeState(ops []core.StateOp) {
	if len(ops) == 0 {
		return
	}
	d.must = true
	d.state, d.revision = d.state.Apply(ops), d.revision.After(ops)
	d.event(core.EventStateDelta, core.StateDelta{Ops: ops}, 0)
	if d.h.FirstDelta == 0 {
		d.h.FirstDelta = d.seq()
	}
}

// snapshot journals the whole state if it changed since the last snapshot.
func (d *draft) snapshot() {
	if d.h.FirstDelta == 0 {
		return
	}
	d.event(core.EventStateSnapshot, d.state, 0)
	d.h.Snapshot, d.h.FirstDelta = d.seq(), 0
}
