package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// hold keeps a message for a run of its own.
func (d *draft) hold(s delivery, parts []core.Part) {
	d.event(core.EventMessageQueued, core.QueuedMessage{Key: s.key, ID: s.Msg, By: s.By, Via: s.Via, Parts: parts}, 0)
	d.h.Held = append(d.h.Held, core.Held{Seq: d.seq(), Key: s.key})
}
