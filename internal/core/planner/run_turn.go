package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// openTurn records that the run is working again, and why.
func (d *draft) openTurn(cause core.TurnCause) {
	if d.h.TurnOpen {
		return
	}
	d.h.Turn++
	d.h.TurnOpen = true
	d.endGrantsOfTurn() // those of an older program outlived the wait
	if d.h.AwakeSince == 0 {
		d.h.AwakeSince = d.v.Now
	}
	d.event(core.EventRunStatus, d.runState(core.RunRunning, nil), 0)
	d.event(core.EventTurnStarted, events.TurnStarted{Cause: cause}, 0)
}

func (d *draft) endTurn(data events.TurnEnded) {
	if d.h.TurnOpen {
		d.h.TurnOpen = false
		d.endGrantsOfTurn()
		data.Usage = events.Tokens{Input: d.h.InputTokens, Output: d.h.OutputTokens}
		d.event(core.EventTurnEnded, data, 0)
	}
}

// causeOfEnd is the cause of a turn in which the run does nothing but end.
func causeOfEnd(r core.Reason) core.TurnCause {
	if r.Kind == core.Cancelled {
		return core.CauseCancel
	}
	return core.CauseError
}
