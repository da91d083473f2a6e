package core

// TurnCause says why a run set to work: what ended its wait, or began it.
type TurnCause string

const (
	CauseInput     TurnCause = "input"     // the start's input
	CauseRetry     TurnCause = "retry"     // the start retries an earlier run, without new input
	CauseMessage   TurnCause = "message"   // a user message
	CauseDecision  TurnCause = "decision"  // a decision on something the run waited for
	CauseDeadline  TurnCause = "deadline"  // no decision came before the deadline
	CauseInterrupt TurnCause = "interrupt" // a caller asked the run to pause
	CauseCancel    TurnCause = "cancel"    // a caller cancelled the run while it waited
	CauseError     TurnCause = "error"     // the run can't go on, and ends
)

// TurnCauses are all causes.
var TurnCauses = []TurnCause{CauseInput, CauseRetry, CauseMessage, CauseDecision, CauseDeadline, CauseInterrupt, CauseCancel, CauseError}

// turnStarted is the data of a turn.started event.
type turnStarted struct {
	Cause TurnCause `json:"cause"`
}

// turnEnded is the data of a turn.ended event. Readers also get the output of a run that is done;
// it is a message of the journal.
type turnEnded struct {
	Status        string        `json:"status"` // suspended or done
	Reason        string        `json:"reason,omitempty"`
	Code          string        `json:"code,omitempty"`
	Detail        string        `json:"detail,omitempty"`
	By            string        `json:"by,omitempty"` // of a cancel
	Via           string        `json:"via,omitempty"`
	ResponseState ResponseState `json:"response_state,omitempty"`
	Usage         tokens        `json:"usage"` // of the run so far
	Pending       []pendingCall `json:"pending,omitempty"`
}

// tokens are what the run's model calls have used.
type tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// openTurn notes that the run is on its way again, and why.
func (d *draft) openTurn(cause TurnCause) {
	if d.h.TurnOpen {
		return
	}
	d.h.Turn++
	d.h.TurnOpen = true
	d.endGrantsOfTurn() // those of an older program outlived the wait
	if d.h.AwakeSince == 0 {
		d.h.AwakeSince = d.v.Now
	}
	d.event(EventRunStatus, d.runState(RunRunning, nil), 0)
	d.event(EventTurnStarted, turnStarted{cause}, 0)
}

func (d *draft) endTurn(data turnEnded) {
	if d.h.TurnOpen {
		d.h.TurnOpen = false
		d.endGrantsOfTurn()
		data.Usage = tokens{d.h.InputTokens, d.h.OutputTokens}
		d.event(EventTurnEnded, data, 0)
	}
}

// causeOfTurn is the cause of a turn that begins with the signals in the inbox: the one that is
// applied first counts.
func (d *draft) causeOfTurn() TurnCause {
	first := d.h.Inbox[d.inboxOrder()[0]]
	if _, cancelled := d.h.Inbox[KeyCancel]; cancelled && first.Kind != SignalStart {
		return CauseCancel
	}
	switch first.Kind {
	case SignalStart:
		if d.h.RetryOf != "" {
			return CauseRetry
		}
		return CauseInput
	case SignalMessage:
		return CauseMessage
	case SignalPause:
		return CauseInterrupt
	}
	return CauseDecision
}

// causeOfEnd is the cause of a turn in which the run does nothing but end.
func causeOfEnd(r Reason) TurnCause {
	if r.Kind == Cancelled {
		return CauseCancel
	}
	return CauseError
}
