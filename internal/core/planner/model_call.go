package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// ask calls the hooks before a model call, then asks for it. What they want becomes durable with
// the turn: after a crash in between they are called again.
func (d *draft) ask() (plans.Plan, error) {
	step := d.h.Step + 1
	var e core.Effects
	for _, phase := range []core.Phase{core.StepStart, core.BeforeInference} {
		var err error
		if e, err = d.fire(core.Firing{Phase: phase, Step: step}); err != nil {
			return nil, err
		}
		if d.over == nil {
			d.over = e.End
		}
		if d.over != nil {
			return d.end(*d.over)
		}
	}
	request, _ := plans.NewRequest(e, step, d.state)
	return plans.AskModel{Request: request}, nil
}
