// Package children knows the runs that the calls of a run have started, and how many more there may
// be.
package children

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Open are the children that calls of the run wait for, by suspension.
func Open(h core.Head, questions map[string]core.SuspendedCall) map[string]core.Child {
	open := map[string]core.Child{}
	for _, c := range h.Calls {
		if q := questions[c.Sus]; c.Status == core.CallSuspended && c.Kind == core.KindChild && q.Child != nil {
			open[c.Sus] = *q.Child
		}
	}
	return open
}

// Depth is how many runs would be above another child, and how many may be.
func Depth(h core.Head, terms core.Terms) (depth, deepest int) {
	depth, deepest = 1, cmp.Or(terms.Depth, core.DefaultDepth)
	if p := h.Parent; p != nil {
		depth = p.Depth + 1
		if p.Deepest > 0 {
			deepest = min(deepest, p.Deepest)
		}
	}
	return depth, deepest
}

// Given is what may still be spent of the allowances of children that have not ended, in millionths
// of a dollar.
func Given(open map[string]core.Child) (sum core.USD) {
	for _, child := range open {
		sum += core.USD(child.Allowance)
	}
	return sum
}

// Identified is a child with the ids that follow from its suspension.
func Identified(child core.Child, h core.Head, sus string) *core.Child {
	child.Thread, child.Run = core.ChildThread(h.Tenant, h.Thread, sus), core.ChildRun(h.Tenant, h.Thread, sus)
	return &child
}
