package effects

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Hooks get copies, so that the engine and other hooks never see their changes.

// CopyOfTurn shares nothing with t that a hook could change.
func CopyOfTurn(t core.Turn) core.Turn {
	t.Calls = slices.Clone(t.Calls)
	for i, c := range t.Calls {
		t.Calls[i] = CopyOfCall(c)
	}
	return t
}

// CopyOfCall is as [CopyOfTurn].
func CopyOfCall(c core.ToolCall) core.ToolCall {
	c.Arguments = slices.Clone(c.Arguments)
	return c
}

// CopyOfOutcome is as [CopyOfTurn].
func CopyOfOutcome(o core.Outcome) core.Outcome {
	o.State = slices.Clone(o.State)
	if o.Ticket != nil {
		ticket := *o.Ticket
		o.Ticket = &ticket
	}
	return o
}
