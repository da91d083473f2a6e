package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// A body that may run at most once has its intent committed before it begins; see
// crash_after_intent.go for what the next owner makes of it.

// atMostOnce says which promise a call's body carries: as the tool says; if it says nothing, at
// most once as soon as a person was asked.
func (d *draft) atMostOnce(call core.ToolCall) bool {
	c := d.h.Calls[call.ID]
	if c.IntentEpoch != 0 {
		return true
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return true
	}
	return spec.Delivery == core.AtMostOnce || spec.Delivery == core.DeliveryDefault && (c.Approved || c.ByGrant)
}

// intend notes the intent of each at-most-once body that has none of this owner, after its hooks
// were called.
func (d *draft) intend(batch []core.ToolCall) (refused bool, err error) {
	for _, call := range batch {
		if !d.atMostOnce(call) || d.h.Calls[call.ID].IntendedBy(d.h.Epoch) {
			continue
		}
		runs, err := d.readyFor(call)
		if err != nil {
			return false, err
		}
		if !runs {
			refused = true
			continue
		}
		if err := d.begin(call); err != nil {
			return false, err
		}
		d.change(call.ID, func(c *core.Call) { c.IntentEpoch = d.h.Epoch })
		d.must = true
	}
	return refused, nil
}

// intended are the calls of the batch whose intent this owner has committed and whose body it has
// not begun.
func (d *draft) intended(batch []core.ToolCall) (calls []core.ToolCall) {
	for _, call := range batch {
		if d.h.Calls[call.ID].IntendedBy(d.h.Epoch) && !d.inFlight(call) {
			calls = append(calls, call)
		}
	}
	return calls
}
