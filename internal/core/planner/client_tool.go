package planner

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// askClient suspends a call of a client tool until a caller has run it and sends its result.
func (d *draft) askClient(call core.ToolCall, spec core.ToolSpec) error {
	return d.suspend(call, core.KindClient, core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult,
		Suspension: core.Suspension{Action: "execute", Message: "Run " + call.Name + " and send its result.", ResponseSchema: spec.Result}})
}

// MostMisfits is how many refused results of one suspension are journaled.
const MostMisfits = 8

// recordInvalidAnswer journals that a client's result was refused, so that readers who took the
// call for answered know that it waits. Nothing else follows.
func (d *draft) recordInvalidAnswer(s delivery) {
	var why string
	_ = json.Unmarshal(s.value, &why) // a value that is lost leaves the reason out
	d.event(core.EventCallInvalidAnswer, events.InvalidAnswer{CallID: s.Call, Suspension: s.Sus, Detail: core.Clip(why, 500), By: s.By, Via: s.Via}, 0)
	if c, ok := d.h.Calls[s.Call]; ok && c.WaitsOn(s.Sus) {
		d.change(s.Call, func(c *core.Call) { c.InvalidAnswers++ })
	}
}
