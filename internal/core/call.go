package core

// Call is what the head knows of one call of the current round. Arguments and results are in the
// journal. The records are embedded: the stored form is one flat object.
type Call struct {
	Status CallStatus `json:"st"`
	Wait
	Attempt
	Approval

	HeldBehind string `json:"hold,omitempty"` // the call it is held behind
	InBudget   bool   `json:"ct,omitempty"`   // the budget let it through
	// the log holds a placeholder for its result
	PlaceholderWritten bool `json:"pl,omitempty"`
	// no model asked for it: the run itself waits
	Synthetic bool `json:"ps,omitempty"`
	// the segment of its assistant turn, if that is not the current one
	TurnSegment int64 `json:"f,omitempty"`
}

// WaitsOn says whether the call is suspended on exactly this suspension.
func (c Call) WaitsOn(suspension string) bool {
	return c.Status == CallSuspended && c.Sus == suspension
}

// Interrupt is the id by which the children of an interrupted run know its interrupt: that of the
// run where it began.
func (c Call) Interrupt() string {
	if c.Above != "" {
		return c.Above
	}
	return Digest([]byte(c.Sus))[:16]
}

// Wait is the suspension of a call, the one it waits on or waited on last.
type Wait struct {
	Kind     Kind       `json:"kind,omitempty"`
	Mode     ResumeMode `json:"mode,omitempty"`
	Sus      string     `json:"sus,omitempty"` // the suspension's id
	Deadline int64      `json:"dl,omitempty"`
	// the applied decision: id, a space, digest
	Decision    string `json:"dec,omitempty"`
	Suspensions int    `json:"n,omitempty"` // how often the call was suspended
	// results of a client that were refused on this suspension, and journaled
	InvalidAnswers int `json:"bad,omitempty"`
	// decisions on this suspension by callers who may not decide, and that were journaled
	Refused int `json:"ref,omitempty"`
	// ids of the decisions on this suspension that were withdrawn, in lines
	Withdrawn string `json:"wd,omitempty"`
	// how many of its moments have come
	Moments int `json:"rm,omitempty"`
	// another group may decide, too
	Escalated bool `json:"g,omitempty"`
	// of the run's own interrupt: the id of the interrupt of the run above that caused it
	Above string `json:"abv,omitempty"`
}

// Attempt is one right to run the body of a call: what began of it, and under whose epoch.
type Attempt struct {
	// raised by each applied decision, never by a crash
	Number int `json:"at,omitempty"`
	// bodies of the call that ran before the current one, including those of crashed workers
	RanBefore int `json:"r,omitempty"`
	// epoch of the open intent of an at-most-once body; 0: none
	IntentEpoch int64 `json:"ie,omitempty"`
	// epoch in which the hooks before its body were called, if a commit contains what they
	// wanted; 0: call them
	HooksEpoch int64 `json:"rdy,omitempty"`
	// the body may have begun, in this attempt, in a process that crashed
	MayHaveBegun bool `json:"ag,omitempty"`
}

// Renew begins the next attempt, after a decision: nothing of it may have begun yet.
func (a *Attempt) Renew() {
	a.Number++
	a.MayHaveBegun = false
}

// IntendedBy says whether the owner of an epoch has committed the intent of the body.
func (a Attempt) IntendedBy(epoch int64) bool { return a.IntentEpoch == epoch }

// Approval is what lets the body of a call run, and with which arguments.
type Approval struct {
	Approved bool `json:"ok,omitempty"` // an approver said that it may run
	// the suspension whose decision is handed to the body
	PassedDecision string `json:"pass,omitempty"`
	// the suspension whose decision says with which arguments it runs
	EditedBy string `json:"ed,omitempty"`
	// what an approval with a grant allows beyond this call
	GrantOffered string `json:"gr,omitempty"`
	// digest of what its gate asked; "" for a tool's own question
	AskDigest string `json:"ask,omitempty"`
	// digest of the ask that an approval satisfied; a different ask is not waived
	WaivedAsk string `json:"lift,omitempty"`
	// the grant of an earlier approval says that it may run, as its gate is now
	ByGrant bool `json:"gd,omitempty"`
}

// Started is the data of a call.started event. Without a time, the body begins once the event is
// committed.
type Started struct {
	CallState
	StartedAt int64 `json:"started_at,omitempty"`
}

// Span is when a body ran.
type Span struct{ Began, Ended int64 }

// Settled is the event that tells of each terminal status.
var Settled = map[CallStatus]EventType{CallSucceeded: EventCallSucceeded, CallFailed: EventCallFailed, CallCancelled: EventCallCancelled}

// After a crash without an intent, the body runs again under the same idempotency key and learns
// that it may have begun before. The engine gives up on a call whose body seems to crash the
// process each time.

// Orphaned says, of a head that was just claimed, that the previous owner crashed: work that it had
// planned may have begun.
func (o Ownership) Orphaned() bool { return o.ClaimKept || o.Tries > 1 }

// Runnable says whether the next thing that happens to the call may be its body.
func (c Call) Runnable() bool {
	return c.Status == CallNew || c.Status == CallRunning || c.Status == CallResuming
}
