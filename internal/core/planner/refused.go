package planner

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
)

// MostRefused is how many decisions on one suspension are journaled that were refused because of
// their caller.
const MostRefused = 4

// recordRefused journals that a caller tried to decide who may not. Nothing else follows.
func (d *draft) recordRefused(s delivery) {
	var code string
	_ = json.Unmarshal(s.value, &code) // a value that is lost leaves the code out
	d.event(core.EventDecisionRefused, events.Refused{CallID: s.Call, Suspension: s.Sus, Code: code, By: s.By, Via: s.Via}, 0)
	if c, ok := d.h.Calls[s.Call]; ok && c.WaitsOn(s.Sus) {
		d.change(s.Call, func(c *core.Call) { c.Refused++ })
	}
}

// recordWithdrawn journals a withdrawal. The call waits as before.
func (d *draft) recordWithdrawn(s delivery) {
	d.event(core.EventDecisionWithdrawn, hold.Event(s.Signal, s.value), 0)
	if c, ok := d.h.Calls[s.Call]; ok && c.Sus == s.Sus {
		d.change(s.Call, func(c *core.Call) { hold.Note(c, s.ID) })
	}
}
