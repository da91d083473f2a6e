package core

// TurnCause says why a run set to work: what ended its wait, or began it.
type TurnCause string

const (
	CauseInput TurnCause = "input" // the start's input
	// the start retries an earlier run, without new input
	CauseRetry     TurnCause = "retry"
	CauseMessage   TurnCause = "message"   // a user message
	CauseDecision  TurnCause = "decision"  // a decision on something the run waited for
	CauseChild     TurnCause = "child"     // a run that a call of an agent started has ended
	CauseDeadline  TurnCause = "deadline"  // no decision came before the deadline
	CauseInterrupt TurnCause = "interrupt" // a caller asked the run to pause
	CauseCancel    TurnCause = "cancel"    // a caller cancelled the run while it waited
	CauseError     TurnCause = "error"     // the run can't go on, and ends
)

// TurnCauses are all causes.
var TurnCauses = []TurnCause{CauseInput, CauseRetry, CauseMessage, CauseDecision, CauseChild, CauseDeadline, CauseInterrupt, CauseCancel, CauseError}
