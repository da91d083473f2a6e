package core

// A body that may run at most once has its intent committed before it begins. An owner that finds
// an intent of another epoch does not run the body again: it asks a person what happened.
//
//	intend ── commit ── body ──✗ crash     next owner: settleRunning ── askWhatHappened ── settleResuming

// atMostOnce says which promise a call's body carries: as the tool says; if it says nothing, at
// most once as soon as a person was asked.
func (d *draft) atMostOnce(call ToolCall) bool {
	c := d.h.Calls[call.ID]
	if c.IntentEpoch != 0 {
		return true
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return true
	}
	return spec.Delivery == AtMostOnce || spec.Delivery == DeliveryDefault && (c.Approved || c.ByGrant)
}

// intend notes the intent of each at-most-once body that has none of this owner, after its hooks
// were called.
func (d *draft) intend(batch []ToolCall) (refused bool, err error) {
	for _, call := range batch {
		if !d.atMostOnce(call) || d.h.Calls[call.ID].intendedBy(d.h.Epoch) {
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
		d.change(call.ID, func(c *Call) { c.IntentEpoch = d.h.Epoch })
		d.must = true
	}
	return refused, nil
}

// intended are the calls of the batch whose intent this owner has committed and whose body it has
// not begun.
func (d *draft) intended(batch []ToolCall) (calls []ToolCall) {
	for _, call := range batch {
		if d.h.Calls[call.ID].intendedBy(d.h.Epoch) && !d.inFlight(call) {
			calls = append(calls, call)
		}
	}
	return calls
}

// settleRunning clears a call whose body this owner is about to run, or that may run again. Of an
// at-most-once body that another owner began nobody knows.
func (d *draft) settleRunning(call ToolCall) error {
	if !d.runsAgain(call) || d.stopped[call.ID] && d.atMostOnce(call) {
		return d.askWhatHappened(call)
	}
	d.cleared[call.ID] = true
	return nil
}

// runsAgain says whether the body of a running call may run: its intent is this owner's, or it may
// run twice.
func (d *draft) runsAgain(call ToolCall) bool {
	return d.h.Calls[call.ID].intendedBy(d.h.Epoch) || !d.atMostOnce(call)
}

// askWhatHappened is for an at-most-once body whose end nobody saw.
//
//	intent committed ── body ──✗ process lost        the body ran, or not, or half
//	                          next owner: ask a person what happened
func (d *draft) askWhatHappened(call ToolCall) error {
	d.change(call.ID, func(c *Call) { c.RanBefore++ })
	v := d.gateOn(d.effective(call)) // an approver who is barred from the call may not have it run again either
	return d.suspend(call, KindUnknownOutcome, SuspendTicket{NotBy: v.NotBy, Suspension: Suspension{Action: "report_outcome",
		Message: call.Name + " was started, and it is not known whether it finished. Say what happened: its result, its error, or that it did not happen and may run."}})
}

// readOutcome: resume with neither result nor error runs the call, so a null result, which reads
// the same once it is stored, is refused.
func readOutcome(in DecisionInput) (ResumeAction, error) {
	switch {
	case in.Error != "":
		return ActionResume, nil
	case in.Result != nil && IsNull(in.Result):
		return 0, &DecisionError{CodeUnclearDecision, "null does not say whether the call happened; send its result, an error, or action resume alone to run it"}
	case in.Action == "" && approvalShaped(in.Result):
		return 0, &DecisionError{CodeWrongKind, "an approval does not say what happened; send the call's result, an error, or action resume to run it"}
	case in.Result != nil, in.Action != "":
		return ActionResume, nil
	}
	return 0, &DecisionError{CodeUnclearDecision, "say what happened: a result, an error, action resume to run it, or action cancel to leave it"}
}
