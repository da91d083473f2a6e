package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// batch are the calls whose bodies run now: all that are cleared, or, in a sequential round, the
// first of them, one with a decision before one without.
//
//	[running with my intent] > [running again, resuming] > [new]
func (d *draft) batch() []core.ToolCall {
	if d.v.Rules.Terms().Parallel {
		return d.clearedWith(core.CallRunning, core.CallResuming, core.CallNew)
	}
	for _, status := range []core.CallStatus{core.CallRunning, core.CallResuming, core.CallNew} {
		if found := d.clearedWith(status); len(found) > 0 {
			return found[:1]
		}
	}
	return nil
}

func (d *draft) clearedWith(statuses ...core.CallStatus) (calls []core.ToolCall) {
	for _, call := range d.round.Calls {
		for _, s := range statuses {
			if d.cleared[call.ID] && d.h.Calls[call.ID].Status == s {
				calls = append(calls, call)
			}
		}
	}
	return calls
}
