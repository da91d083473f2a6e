package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// turnStarted is the data of a turn.started event.
type turnStarted struct {
	Cause core.TurnCause `json:"cause"`
}

// turnEnded is the data of a turn.ended event. Readers also get the output of a run that is done;
// it is a message of the journal.
type turnEnded struct {
	Status        string             `json:"status"` // suspended or done
	Reason        string             `json:"reason,omitempty"`
	Code          string             `json:"code,omitempty"`
	Detail        string             `json:"detail,omitempty"`
	By            string             `json:"by,omitempty"` // of a cancel
	Via           string             `json:"via,omitempty"`
	ResponseState core.ResponseState `json:"response_state,omitempty"`
	Usage         tokens             `json:"usage"` // of the run so far
	Pending       []pendingCall      `json:"pending,omitempty"`
}

// tokens are what the run's model calls have used.
type tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

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
	d.event(core.EventTurnStarted, turnStarted{cause}, 0)
}

func (d *draft) endTurn(data turnEnded) {
	if d.h.TurnOpen {
		d.h.TurnOpen = false
		d.endGrantsOfTurn()
		data.Usage = tokens{d.h.InputTokens, d.h.OutputTokens}
		d.event(core.EventTurnEnded, data, 0)
	}
}

// causeOfTurn is the cause of a turn that begins with the signals in the inbox: the one that is
// applied first counts.
func (d *draft) causeOfTurn() core.TurnCause {
	first := d.h.Inbox[d.inboxOrder()[0]]
	if _, cancelled := d.h.Inbox[core.KeyCancel]; cancelled && first.Kind != core.SignalStart {
		return core.CauseCancel
	}
	switch first.Kind {
	case core.SignalStart:
		if d.h.RetryOf != "" {
			return core.CauseRetry
		}
		return core.CauseInput
	case core.SignalMessage:
		return core.CauseMessage
	case core.SignalPause:
		return core.CauseInterrupt
	}
	return core.CauseDecision
}

// causeOfEnd is the cause of a turn in which the run does nothing but end.
func causeOfEnd(r core.Reason) core.TurnCause {
	if r.Kind == core.Cancelled {
		return core.CauseCancel
	}
	return core.CauseError
}
