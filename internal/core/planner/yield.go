package planner

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// yieldPause is how long a run that yielded waits, in ms.
const yieldPause = 5000

// yield discards the turn: its cost counts, and nothing else follows from it.
func (d *draft) yield() {
	if !d.v.Yielded {
		return
	}
	t := *d.v.Turn
	d.modelAnswered()
	d.countTokens(t)
	d.countCost(t)
	d.h.Yields++
	d.h.YieldsInRow++
	d.h.NotBefore = d.v.Now + yieldPause
	d.event(core.EventStepReset, map[string]any{"reason": "yielded", "text": cmp.Or(t.Text, "The run yielded to another one before the model said anything.")}, 0)
}
