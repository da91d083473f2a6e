package planner

import (
	"fmt"
	"math"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// overBudget returns why a call exceeds its budget, or "". Every call that was let through counts,
// whether or not it ran.
func (d *draft) overBudget(call core.ToolCall) string {
	if d.h.Calls[call.ID].InBudget {
		return ""
	}
	switch t := d.v.Rules.Terms(); {
	case t.StepCalls > 0 && d.h.StepCalls >= t.StepCalls:
		return fmt.Sprintf("budget_exhausted: a step may make at most %d tool calls; the call did not run.", t.StepCalls)
	case t.RunCalls > 0 && d.h.ToolCalls >= t.RunCalls:
		return fmt.Sprintf("budget_exhausted: this run may make at most %d tool calls; the call did not run.", t.RunCalls)
	}
	return ""
}

func (d *draft) letThrough(call core.ToolCall) {
	if d.h.Calls[call.ID].InBudget {
		return
	}
	d.change(call.ID, func(c *core.Call) { c.InBudget = true })
	d.h.StepCalls++
	d.h.ToolCalls++
}

// countTokens adds the reported usage of a turn. The provider reports it, so negative numbers are
// ignored and sums can't overflow.
func (d *draft) countTokens(t core.Turn) {
	add := func(to *int64, n int64) { *to = min(*to+min(max(n, 0), math.MaxInt64/4), math.MaxInt64/4) }
	add(&d.h.InputTokens, t.InputTokens)
	add(&d.h.OutputTokens, t.OutputTokens)
}
