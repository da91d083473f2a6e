package core

import "fmt"

// Call is what the head knows of one call of the current round. Arguments and results are in the
// journal. The records are embedded: the stored form is one flat object.
type Call struct {
	Status CallStatus `json:"st"`
	Wait
	Attempt
	Approval

	HeldBehind         string `json:"hold,omitempty"` // the call it is held behind
	InBudget           bool   `json:"ct,omitempty"`   // the budget let it through
	PlaceholderWritten bool   `json:"pl,omitempty"`   // the log holds a placeholder for its result
	Synthetic          bool   `json:"ps,omitempty"`   // no model asked for it: the run itself waits
	TurnSegment        int64  `json:"f,omitempty"`    // the segment of its assistant turn, if that is not the current one
}

// waitsOn says whether the call is suspended on exactly this suspension.
func (c Call) waitsOn(suspension string) bool {
	return c.Status == CallSuspended && c.Sus == suspension
}

// Wait is the suspension of a call, the one it waits on or waited on last.
type Wait struct {
	Kind           Kind       `json:"kind,omitempty"`
	Mode           ResumeMode `json:"mode,omitempty"`
	Sus            string     `json:"sus,omitempty"` // the suspension's id
	Deadline       int64      `json:"dl,omitempty"`
	Decision       string     `json:"dec,omitempty"` // the applied decision: id, a space, digest
	Suspensions    int        `json:"n,omitempty"`   // how often the call was suspended
	InvalidAnswers int        `json:"bad,omitempty"` // results of a client that were refused on this suspension, and journaled
}

// Attempt is one right to run the body of a call: what began of it, and under whose epoch.
type Attempt struct {
	Number       int   `json:"at,omitempty"`  // raised by each applied decision, never by a crash
	RanBefore    int   `json:"r,omitempty"`   // bodies of the call that ran before the one at hand, also those of crashed workers
	IntentEpoch  int64 `json:"ie,omitempty"`  // epoch of the open intent of an at-most-once body; 0: none
	HooksEpoch   int64 `json:"rdy,omitempty"` // epoch in which the hooks before its body were called, if a commit contains what they wanted; 0: call them
	MayHaveBegun bool  `json:"ag,omitempty"`  // the body may have begun, in this attempt, in a process that crashed
}

// renew begins the next attempt, after a decision: nothing of it may have begun yet.
func (a *Attempt) renew() {
	a.Number++
	a.MayHaveBegun = false
}

// intendedBy says whether the owner of an epoch has committed the intent of the body.
func (a Attempt) intendedBy(epoch int64) bool { return a.IntentEpoch == epoch }

// Approval is what lets the body of a call run, and with which arguments.
type Approval struct {
	Approved       bool   `json:"ok,omitempty"`   // an approver said that it may run
	PassedDecision string `json:"pass,omitempty"` // the suspension whose decision is handed to the body
	EditedBy       string `json:"ed,omitempty"`   // the suspension whose decision says with which arguments it runs
	GrantOffered   string `json:"gr,omitempty"`   // what an approval with a grant allows beyond this call
	AskDigest      string `json:"ask,omitempty"`  // digest of what its gate asked; "" for a tool's own question
	WaivedAsk      string `json:"lift,omitempty"` // digest of the ask that an approval satisfied; a different ask is not waived
	ByGrant        bool   `json:"gd,omitempty"`   // the grant of an earlier approval says that it may run, as its gate is now
}

func (d *draft) call(id string) (ToolCall, bool) {
	for _, c := range d.round.Calls {
		if c.ID == id {
			_, tracked := d.h.Calls[id]
			return c, tracked
		}
	}
	return ToolCall{}, false
}

// move changes a call's status by the table, and lets go of what was held behind it once it is
// settled.
func (d *draft) move(id string, next CallStatus) error {
	c, ok := d.h.Calls[id]
	if !ok {
		return fmt.Errorf("core: call %q is not in this round", id)
	}
	to, err := c.Status.To(next)
	if err != nil {
		return err
	}
	c.Status = to
	if to.Terminal() {
		c.IntentEpoch = 0
		c.HeldBehind = ""
	}
	d.h.Calls[id] = c
	if !to.Terminal() {
		return nil
	}
	for other, o := range d.h.Calls {
		if o.HeldBehind == id {
			o.HeldBehind = ""
			d.h.Calls[other] = o
		}
	}
	return nil
}

// callState is the record of a call that events carry. Arguments and results are joined from
// messages, not repeated here.
func (d *draft) callState(call ToolCall) CallState {
	return CallState{CallID: call.ID, ToolName: call.Name, Status: d.h.Calls[call.ID].Status, UpdatedAt: d.v.Now}
}

// started is the data of a call.started event. Without a time, the body begins once the event is
// committed.
type started struct {
	CallState
	StartedAt int64 `json:"started_at,omitempty"`
}

// begin marks a call as running.
func (d *draft) begin(call ToolCall) error {
	if d.h.Calls[call.ID].Status == CallRunning {
		return nil
	}
	if err := d.move(call.ID, CallRunning); err != nil {
		return err
	}
	started := started{CallState: d.callState(call), StartedAt: d.spans[call.ID].began}
	started.Arguments = d.editedArguments(call)
	d.event(EventCallStarted, started, 0)
	return nil
}

// span is when a body ran.
type span struct{ began, ended int64 }

// settled is the event that tells of each terminal status.
var settled = map[CallStatus]EventType{CallSucceeded: EventCallSucceeded, CallFailed: EventCallFailed, CallCancelled: EventCallCancelled}

// settleCall closes a call. result holds what the model will see. No model asked for a pseudo-call,
// so none sees its result, and the head forgets it.
func (d *draft) settleCall(call ToolCall, status CallStatus, how CallOutcome, result Message) error {
	if d.h.Calls[call.ID].Status != CallRunning {
		d.must = true // a verdict on the state as it is now: no later body may change it
	}
	before := d.h.Calls[call.ID]
	if err := d.move(call.ID, status); err != nil {
		return err
	}
	data := d.ended(call, before)
	if before.Synthetic {
		data.Outcome = how
		d.event(settled[status], data, 0)
		delete(d.h.Calls, call.ID)
		return nil
	}
	failed := status != CallSucceeded
	result.Role, result.CallID, result.Tool, result.Error, result.Outcome = RoleTool, call.ID, call.Name, failed, how.stored(failed)
	d.event(settled[status], data, d.message(result))
	return nil
}

// ended is what the end of a call says of its times. before is the call as it was.
func (d *draft) ended(call ToolCall, before Call) ended {
	e := ended{CallState: d.callState(call), Attempts: before.RanBefore}
	if s, ran := d.spans[call.ID]; ran {
		e.StartedAt = s.began
		if s.ended != d.v.Now {
			e.EndedAt = max(s.began, s.ended)
		}
		e.Attempts++
		if before.MayHaveBegun || d.v.Orphaned && before.IntentEpoch == 0 {
			e.Attempts++ // a crashed worker may have begun it
		}
	}
	e.MayHaveRun = e.Status == CallCancelled && d.mayHaveRun(call, before)
	return e
}

// waiting counts the suspended calls a message does not answer, and keeps the key under which the
// run is listed for approval.
func (d *draft) waiting() (count int, key string) {
	suspended := false
	for _, c := range d.h.Calls {
		if c.Status != CallSuspended {
			continue
		}
		suspended = true
		if c.Kind != KindInput && c.Kind != KindInterrupt {
			count++
		}
	}
	switch {
	case !suspended:
		return 0, ""
	case d.h.Oldest != "":
		return count, d.h.Oldest
	}
	return count, fmt.Sprintf("%013d#%s", d.v.Now, d.h.Run)
}
