package core

import (
	"encoding/json"
	"fmt"
)

// finish runs the built-in tool that ends a run, once every other call of the turn is settled. finished says that the plan is made.
func (d *draft) finish() (plan Plan, finished bool, err error) {
	waiting := ""
	for _, call := range d.round.Calls {
		if c := d.h.Calls[call.ID]; c.Status == CallSuspended {
			waiting = call.ID
		}
	}
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		spec, _ := d.v.Rules.Tool(call.Name)
		switch {
		case !tracked || c.Status != CallNew || c.Hold != "" || !spec.Finish:
			continue
		case waiting != "":
			d.change(call.ID, func(c *Call) { c.Hold = waiting })
			continue
		}
		if plan, finished, err = d.finishWith(call); finished || err != nil {
			return plan, finished, err
		}
	}
	return nil, false, nil
}

// turnFailed says whether a call of the current turn came to anything but success.
func (d *draft) turnFailed() bool {
	for _, c := range d.h.Calls {
		if c.From == 0 && (c.Status == CallFailed || c.Status == CallCancelled) {
			return true
		}
	}
	return false
}

// finishing are the arguments of the finish tool.
type finishing struct {
	Output json.RawMessage `json:"output"`
	State  ResponseState   `json:"response_state"`
}

// finishes says whether a turn does nothing but end the run, in a way that is accepted.
func (d *draft) finishes(calls []ToolCall) bool {
	if len(calls) != 1 || d.h.Calls[calls[0].ID].Status != CallNew {
		return false
	}
	spec, _ := d.v.Rules.Tool(calls[0].Name)
	if !spec.Finish || d.faults[calls[0].ID] != "" || d.check(calls[0]) != nil {
		return false
	}
	_, why := d.readFinish(calls[0])
	return why == "" && d.gateOn(calls[0]).Effect == Allow
}

// readFinish reads the call that would end the run, or says why it cannot end now.
func (d *draft) readFinish(call ToolCall) (f finishing, why string) {
	switch err := json.Unmarshal(call.Arguments, &f); {
	case err != nil:
		return f, "The arguments are not valid: output and response_state are expected."
	case d.turnFailed():
		return f, "Not finished: a call of the same turn has no success to show. Look at its result first."
	case d.h.Spoken:
		return f, "Not finished: the user has said something since. Answer that first."
	case f.State == ResponseNoOp && d.h.Wrote:
		return f, "Not finished: response_state is no_op, but this run has changed something."
	}
	return f, ""
}

func (d *draft) finishWith(call ToolCall) (Plan, bool, error) {
	switch v := d.gateOn(call); v.Effect {
	case Block:
		reason := orElse(v.Reason, "a rule forbids to finish here.")
		if err := d.refuse(call, CallOutcomeBlocked, "Blocked: "+reason); err != nil {
			return nil, false, err
		}
		plan, err := d.end(Reason{Kind: Blocked, Code: CodeBlockedByRule, Detail: reason})
		return plan, true, err
	case Allow:
	default:
		return nil, false, d.refuse(call, CallOutcomeDeniedByRule, "Not allowed: "+orElse(v.Reason, "a rule forbids to finish here."))
	}
	f, why := d.readFinish(call)
	if why != "" {
		return nil, false, d.refuse(call, CallOutcomeNotFinished, why)
	}
	if err := d.result(call, CallOutcomeSucceeded, Outcome{Text: "Finished."}); err != nil {
		return nil, false, err
	}
	d.h.Finish, d.h.Response = call.ID, f.State
	plan, err := d.end(Reason{Kind: NaturalEnd})
	return plan, true, err
}

// endInConflict ends a run whose writers contradicted one another. Nothing of what they did since the last commit counts, but that
// their calls were started. A cancel that was accepted meanwhile is still what ended it.
func (d *draft) endInConflict(c conflict) (Plan, error) {
	d.foldSent()
	if d.v.Turn == nil {
		for _, o := range d.v.Outcomes {
			if call, ok := d.call(o.CallID); ok {
				if err := d.begin(call); err != nil {
					return nil, err
				}
			}
		}
	}
	d.over = &Reason{Kind: Failed, Code: "state_conflict", Detail: c.Error()}
	return d.end(*d.mustEnd())
}

// end closes the run: every open call with a result that says so, every signal into the journal. It is one write with the
// release, unless hooks are to be called, something must still be sent, or another run follows.
func (d *draft) end(r Reason) (Plan, error) {
	if d.flying() {
		return StopBodies{r}, nil
	}
	if err := d.drain(false); err != nil {
		return nil, err
	}
	d.closing = true
	for _, call := range d.round.Calls {
		if err := d.cancelOpen(call, r); err != nil {
			return nil, err
		}
	}
	d.openTurn(causeOfEnd(r))
	if err := d.endStep(); err != nil {
		return nil, err
	}
	d.snapshot()
	d.seal(r)
	d.owedHooks(RunEnd)
	d.h.Closed = !d.hooked(RunEnd)
	if len(d.h.Out) > 0 || !d.h.Closed {
		return d.write(Commit{AllSeen: true}), nil
	}
	return d.releaseDone()
}

// closeRun calls the hooks of the run's end, once that is committed and nothing can prevent it any more. Those that are taken to kill the
// process are given up.
func (d *draft) closeRun() error {
	if d.h.Closed {
		return nil
	}
	if d.h.Tries >= d.v.Limits.BodyTries {
		d.event(EventHookFailed, map[string]any{"detail": "the hooks of the run's end were given up: their process was lost each time"}, 0)
	} else if _, err := d.fire(Firing{Phase: RunEnd, Reason: d.h.End}); err != nil {
		return err
	}
	d.snapshot()
	d.h.Closed, d.must = true, true
	return nil
}

const outMemory = "memory" // the key of its entry in the outbox

// giveUpMemory takes the agent's memory out of the way if it seems to kill the process that gives it the run: nothing keeps a run from
// being done. Claims that were lost before the hooks were given up do not count against it.
func (d *draft) giveUpMemory() {
	if _, waits := d.h.Out[outMemory]; waits && d.h.Tries >= d.v.Limits.BodyTries && !d.dirty() {
		d.takeOut(Sent{Key: outMemory, Failed: "given_up"})
	}
}

// seal is what nothing follows any more but sending.
func (d *draft) seal(r Reason) {
	for key, out := range d.h.Out {
		if out.Kind == OutNotify { // nobody is needed any more
			delete(d.h.Out, key)
		}
	}
	if r.Kind == Blocked {
		r.Code = orElse(r.Code, CodeBlockedByRule)
	}
	r.Code, r.Detail = clip(r.Code, 100), clip(r.Detail, 500) // models' and callers' words; the head is small
	d.h.End = &r
	d.h.NotBefore, d.h.Outage = 0, nil
	d.h.Timed = map[string]int{}
	d.h.Awake, d.h.AwakeSince = d.awake(), 0
	if r.Kind == NaturalEnd && d.h.Response == "" {
		d.h.Response = ResponseDone
	}
	byItself := r.Kind == NaturalEnd || r.Kind == BehaviorRequested || r.Kind == Stopped
	if d.v.Rules.Terms().Memory && !d.h.NoMemory && byItself {
		d.h.Out[outMemory] = Out{Kind: OutMemory}
	}
}

// cancelOpen closes a call that the end of the run overtook.
func (d *draft) cancelOpen(call ToolCall, r Reason) error {
	c, tracked := d.h.Calls[call.ID]
	if !tracked || c.Status.Terminal() {
		return nil
	}
	why := r.Kind.String()
	if r.Code != "" && r.Kind != Blocked {
		why += ": " + r.Code
	}
	text := fmt.Sprintf("Not run: the run ended first (%s).", why)
	if d.mayHaveRun(call, c) {
		text = fmt.Sprintf("Cancelled: the run ended (%s) while this call was running; it may or may not have taken effect.", why)
	}
	return d.settleCall(call, CallCancelled, overtakenBy(r), textResult(text))
}

// mayHaveRun says whether the body of a call that is closed without an outcome may have taken effect: it was begun, or a crashed owner may have
// begun it. c is the call as it was before.
func (d *draft) mayHaveRun(call ToolCall, c Call) bool {
	begun := c.Status == CallRunning || c.Status == CallSuspended && c.Kind == KindUnknownOutcome
	return begun || d.closing && d.mayHaveBegun(call)
}

// mayHaveBegun says whether a crashed owner may have begun a body that needs no intent: its gate was open.
func (d *draft) mayHaveBegun(call ToolCall) bool {
	c, committed := d.v.Head.Calls[call.ID]
	spec, ok := d.v.Rules.Tool(call.Name)
	if !committed || !ok || spec.Client || spec.Finish || c.Hold != "" || d.atMostOnce(call) {
		return false
	}
	if lost := c.Again || c.Ready != 0 && c.Ready != d.h.Epoch || d.v.Orphaned; !lost {
		return false
	}
	rec := d.round.Decisions[c.Sus]
	runs := c.Status == CallNew ||
		c.Status == CallResuming && rec.Action == ActionResume && rec.Error == "" && !rec.TimedOut && c.Mode != UseDecisionAsToolResult
	v, _ := d.verdict(call)
	return runs && v.Effect == Allow
}

// afterEnd finishes an end that could not be one write.
func (d *draft) afterEnd() (Plan, error) {
	if err := d.closeRun(); err != nil {
		return nil, err
	}
	d.giveUpMemory()
	switch {
	case len(d.h.Out) > 0:
		return d.empty()
	case len(d.h.Held) > 0 && !d.h.TurnOpen:
		return StartHeld{d.h.Held[0]}, nil
	}
	return d.releaseDone()
}

// releaseDone says that the run is done and gives the claim up; if a message waits for that, the claim is kept until the run that it
// begins has taken the place in the head.
func (d *draft) releaseDone() (Plan, error) {
	r := *d.h.End
	follows := len(d.h.Held) > 0
	if !follows {
		if err := d.setStatus(RunDone); err != nil {
			return nil, err
		}
	}
	d.openTurn(causeOfEnd(r))
	d.endTurn(turnEnded{Status: RunDone.String(), Reason: r.Kind.String(), Code: r.Code, Detail: r.Detail, By: r.By, Via: r.Via, ResponseState: d.h.Response})
	d.endActivation(ActivationDone)
	d.event(EventRunStatus, d.runState(RunDone, &r), 0)
	if follows {
		d.must = true
		return d.write(Commit{AllSeen: true}), nil
	}
	d.h.Lease = 0
	due := int64(0)
	return d.write(Commit{AllSeen: true, Due: &due, Over: true}), nil
}

// Succeed is the head of the next run of h's thread, on condition that h is done or about to be: what never goes back goes on from h.
// The input is its first signal; version is the definition it is pinned to.
func (h Head) Succeed(version string, input Signal, now int64) Head {
	return Head{Tenant: h.Tenant, Thread: h.Thread, Run: RunID(h.Thread, h.Rev+1), Agent: h.Agent, Version: version, Schema: SchemaVersion, Idem: h.Idem,
		Epoch: h.Epoch + 1, Rev: h.Rev + 1, CID: h.CID, Seq: h.Seq, Seg: h.Seg, Ev: h.Ev, Sigs: h.Sigs + 1, Claim: h.Claim,
		Seq0: h.Seq, Ev0: h.Ev, Spoke: h.Spoke, Snapshot: h.Snapshot, Deltas: h.Deltas, Inbox: map[string]Signal{KeyStart: input}, Born: now, At: now}
}

// After is the view once a commit has landed as next: what was folded in is done.
func (v View) After(next Head, c *Commit) View {
	v.Unseen = v.unseen()
	v.State, v.Revision, v.Round, v.Head, v.Orphaned = c.State, c.Revision, c.Round, next, false
	v.Turn, v.Yielded, v.Failure, v.Outcomes, v.Fired, v.Sent, v.Previews, v.NotSent = nil, false, nil, nil, c.Fired, nil, nil, false
	return v
}
