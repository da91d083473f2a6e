package core

import "slices"

// Activation outcomes, as they are journaled.
const (
	OutcomeStepDone   = "step_done"
	OutcomeApproval   = "suspended_approval"
	OutcomeClientTool = "suspended_client_tool"
	OutcomePartial    = "suspended_step_partial"
	OutcomeDone       = "done"
)

func (d *draft) endActivation(outcome string) {
	d.h.Activations++
	d.event(EventActivationEnded, map[string]any{"activation": d.h.Activations, "outcome": outcome}, 0)
}

func (d *draft) endStep() {
	if d.h.StepOpen {
		d.h.StepOpen = false
		d.event(EventStepEnded, nil, 0)
	}
}

func (d *draft) endTurn(data map[string]any) {
	if d.h.TurnOpen {
		d.h.TurnOpen = false
		d.event(EventTurnEnded, data, 0)
	}
}

// setStatus asks the table.
func (d *draft) setStatus(next RunStatus) error {
	to, err := d.h.Status.To(next)
	if err != nil {
		return err
	}
	d.h.Status = to
	return nil
}

// releaseRunning gives the claim up with the next step due, at once or when NotBefore has passed.
func (d *draft) releaseRunning() (Plan, error) {
	d.endStep()
	return d.handOver(OutcomeStepDone)
}

// releasePartial gives the claim up in the middle of a step, so that the next body or model call has a whole activation's time.
// The step stays open; what is done is committed, and the model is not asked again for it.
func (d *draft) releasePartial() (Plan, error) { return d.handOver(OutcomePartial) }

func (d *draft) handOver(outcome string) (Plan, error) {
	d.endActivation(outcome)
	d.h.Lease = 0
	delay := max(0, d.h.NotBefore-d.v.Now)
	due := d.v.Now + delay + RetryDue
	return Plan{Commit: d.write(Commit{Due: &due, Wake: &delay, Over: true})}, nil
}

// releaseWaiting gives the claim up until somebody answers. It closes a door: a signal nobody drained would wait with the run, so
// none may be there. And it demands an empty outbox: a waiting run without a deadline is in no index, so nothing would ever
// send what is left.
func (d *draft) releaseWaiting() (Plan, error) {
	if len(d.h.Out) > 0 {
		return d.empty()
	}
	if err := d.setStatus(RunWaiting); err != nil {
		return Plan{}, err
	}
	d.endStep()
	outcome, pending := d.pending()
	d.endTurn(map[string]any{"status": Suspended, "pending": pending})
	d.endActivation(outcome)
	d.event(EventRunStatus, d.runState(RunWaiting, nil), 0)
	d.h.Lease = 0
	due := d.h.Deadline
	return Plan{Commit: d.write(Commit{AllSeen: true, Due: &due, Over: true})}, nil
}

// pending lists what the run waits for, in call order, and what kind of wait it is.
func (d *draft) pending() (outcome string, list []map[string]any) {
	outcome = OutcomeClientTool
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Status != CallSuspended {
			continue
		}
		if c.Kind != KindClient {
			outcome = OutcomeApproval
		}
		list = append(list, map[string]any{"call_id": call.ID, "tool": call.Name, "kind": c.Kind, "suspension": c.Sus})
	}
	return outcome, list
}

// empty works the outbox off: first the commit that names it, then the sending, and if that fails a pause.
func (d *draft) empty() (Plan, error) {
	switch {
	case d.v.NotSent:
		d.h.NotBefore = d.v.Now + backoff(4)
		return d.releaseRunning()
	case d.dirty():
		return d.commit(), nil
	}
	return Plan{Send: sortedKeys(d.h.Out)}, nil
}

// end closes the run: every open call with a result that says so, every signal into the journal. It is one write with the
// release, unless something must still be sent.
func (d *draft) end(r Reason) (Plan, error) {
	if err := d.drain(false); err != nil {
		return Plan{}, err
	}
	for _, call := range d.round.Calls {
		if err := d.cancelOpen(call, r); err != nil {
			return Plan{}, err
		}
	}
	for key, out := range d.h.Out {
		if out.Kind == OutNotify { // nobody is needed any more
			delete(d.h.Out, key)
		}
	}
	d.h.End = &r
	d.h.NotBefore, d.h.Deadline = 0, 0
	if r.Kind == NaturalEnd {
		d.h.Response = ResponseDone
	}
	if len(d.h.Out) > 0 {
		return Plan{Commit: d.write(Commit{AllSeen: true})}, nil
	}
	return d.releaseDone()
}

// cancelOpen closes a call that the end of the run overtook.
func (d *draft) cancelOpen(call ToolCall, r Reason) error {
	c, tracked := d.h.Calls[call.ID]
	if !tracked || c.Status.Terminal() {
		return nil
	}
	text := "Not run: the run ended first (" + r.Kind.String() + ")."
	if c.Status == CallRunning || c.Kind == KindUnknownOutcome && c.Status == CallSuspended {
		text = "Cancelled: the run ended (" + r.Kind.String() + ") while this call was running; it may or may not have taken effect."
	}
	return d.settleCall(call, CallCancelled, text)
}

// afterEnd finishes an end that could not be one write.
func (d *draft) afterEnd() (Plan, error) {
	if len(d.h.Out) > 0 {
		return d.empty()
	}
	return d.releaseDone()
}

func (d *draft) releaseDone() (Plan, error) {
	r := *d.h.End
	if err := d.setStatus(RunDone); err != nil {
		return Plan{}, err
	}
	d.openTurn()
	d.endStep()
	d.endTurn(map[string]any{"status": RunDone, "reason": r.Kind, "code": r.Code, "detail": r.Detail})
	d.endActivation(OutcomeDone)
	d.event(EventRunStatus, d.runState(RunDone, &r), 0)
	d.h.Lease = 0
	due := int64(0)
	return Plan{Commit: d.write(Commit{AllSeen: true, Due: &due, Over: true})}, nil
}

// After is the view once a commit has landed as next: what was folded in is done, and the round is read on.
func (v View) After(next Head, c *Commit) View {
	if c.Segment != nil {
		if c.Head.Round == c.Segment.Seq {
			v.Round = Round{Decisions: map[string]DecisionRecord{}}
		}
		read := ReadRound(c.Head, []Segment{*c.Segment})
		if read.Calls != nil {
			v.Round.Calls = slices.Clone(read.Calls)
		}
		v.Round.Decisions = cloneMap(v.Round.Decisions)
		for sus, rec := range read.Decisions {
			v.Round.Decisions[sus] = rec
		}
	}
	v.Head = next
	v.Turn, v.Failure, v.Outcomes, v.Sent, v.NotSent = nil, nil, nil, nil, false
	return v
}
