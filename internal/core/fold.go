package core

import (
	"cmp"
	"fmt"
	"math"
)

// foldSent takes out of the outbox what was sent.
func (d *draft) foldSent() {
	for _, sent := range d.v.Sent {
		d.takeOut(sent)
	}
}

func (d *draft) takeOut(sent Sent) {
	if sent.Failed != "" {
		d.event(EventMemoryFailed, map[string]any{"detail": sent.Failed}, 0)
	}
	delete(d.h.Out, sent.Key)
	d.must = true
}

// startRun calls the hooks of a run's start, once.
func (d *draft) startRun() error {
	if d.h.Begun {
		return nil
	}
	if d.h.Step == 0 && d.h.Activations == 0 {
		effects, err := d.fire(Firing{Phase: RunStart})
		if err != nil {
			return err
		}
		if effects.RecallFailed != "" {
			d.event(EventMemoryFailed, map[string]any{"detail": effects.RecallFailed}, 0)
		}
		if effects.Recall != "" {
			d.message(Message{Role: RoleSystem, Parts: TextParts(effects.Recall)})
		}
		if effects.End != nil {
			d.over = effects.End
		}
		if t := effects.Wait; t != nil {
			if err := d.waitItself(kindOf(t.ResumeMode), *t); err != nil {
				return err
			}
		}
	}
	d.h.Begun = true
	return nil
}

// foldOutcomes folds in the outcomes of bodies, and the hooks before those in flight. Writes of overlapping bodies must not conflict.
func (d *draft) foldOutcomes() error {
	if err := d.v.contradiction(); err != nil {
		return err
	}
	for _, o := range d.v.Outcomes {
		if !o.Missing {
			d.spans[o.CallID] = span{o.Began, o.Ended}
		}
	}
	for _, o := range d.v.Outcomes {
		if err := d.beginBodies(max(o.Saw, o.Nth-1)); err != nil {
			return err
		}
		call, ok := d.call(o.CallID)
		if !ok {
			return fmt.Errorf("core: an outcome for call %q, which is not in this round", o.CallID)
		}
		if err := d.foldOutcome(call, o); err != nil {
			return err
		}
	}
	return d.beginBodies(math.MaxInt)
}

// beginBodies folds in what preceded the bodies that had seen no more than saw outcomes. The hooks before a body have seen the writes of the
// hooks before the others, but not those of the other bodies.
func (d *draft) beginBodies(saw int) error {
	for _, call := range d.round.Calls {
		for _, o := range d.v.Outcomes {
			if o.CallID == call.ID && o.Saw <= saw && !d.begun[call.ID] {
				if err := d.beginBody(call); err != nil {
					return err
				}
			}
		}
		for _, f := range d.v.InFlight {
			if f.CallID == call.ID && f.Saw <= saw && !d.begun[call.ID] {
				if err := d.keepHooks(call); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// beginBody folds in the start of a body that has ended, and the hooks before it.
func (d *draft) beginBody(call ToolCall) error {
	d.begun[call.ID] = true
	d.letThrough(call) // if its gate opened after the last commit
	if err := d.begin(call); err != nil {
		return err
	}
	d.change(call.ID, func(c *Call) { c.Ready = 0 })
	_, err := d.takeFired(BeforeToolExecute, call.ID)
	return err
}

// keepHooks folds in what the hooks before a body in flight wanted, so that they are not called again. The start of the call is left out: an
// owner that has to run the body again asks its gate, on the state of that moment.
func (d *draft) keepHooks(call ToolCall) error {
	d.begun[call.ID] = true
	d.letThrough(call)
	if d.h.Calls[call.ID].Status != CallRunning {
		d.change(call.ID, func(c *Call) { c.Ready = d.h.Epoch })
	}
	_, err := d.takeFired(BeforeToolExecute, call.ID)
	return err
}

func (d *draft) foldOutcome(call ToolCall, o BodyOutcome) error {
	amo := d.atMostOnce(call)
	if amo {
		d.must = true
	}
	how := o.Outcome.CallOutcome()
	_, cancelled := d.h.Inbox[KeyCancel]
	switch {
	case o.Interrupted && (cancelled || d.v.Cancelled):
		return nil // the end closes it
	case o.Interrupted && o.Stopping:
		d.stopped[call.ID] = true
		return nil // as well
	case o.Interrupted && amo:
		return d.askOutcome(call)
	case o.Interrupted:
		how, o.Outcome = CallOutcomeOutOfTime, Outcome{Failed: true, Text: "The tool did not finish in the time it had."}
	case o.Missing:
		how = CallOutcomeUnknownTool
	}
	if err := d.checkState(o.State); err != nil {
		how, o.Outcome = CallOutcomeToolError, Outcome{Failed: true, Text: "The tool ran, but nothing that it wrote to the shared state was kept: " + err.Error() + "."}
	}
	d.writeState(o.State)
	if o.Ticket == nil {
		d.executed(call, o.Failed)
		return d.result(call, how, o.Outcome)
	}
	if _, err := d.after(call, o.Outcome); err != nil {
		return err
	}
	return d.suspendSelf(call, o)
}

// checkState says why a body's writes cannot be kept.
func (d *draft) checkState(ops []StateOp) error {
	if err := checkOps(ops); err != nil {
		return err
	}
	if len(ops) > 0 && len(Encode(d.state.Apply(ops))) > MaxState {
		return fmt.Errorf("the state would be larger than %d bytes", MaxState)
	}
	return nil
}

// executed counts a call whose work was done, here or elsewhere.
func (d *draft) executed(call ToolCall, failed bool) {
	if failed {
		d.h.RoundFailed++
		return
	}
	d.h.RoundOK++
	if spec, ok := d.v.Rules.Tool(call.Name); !ok || !spec.ReadOnly {
		d.h.Wrote = true
	}
}

// after calls the hooks that see an outcome, and returns what they add to it.
func (d *draft) after(call ToolCall, out Outcome) (added string, err error) {
	ran := d.effective(call)
	effects, err := d.fire(Firing{Phase: AfterToolExecute, Call: &ran, Outcome: &out})
	return effects.Append, err
}

// result closes a call with what the model will see.
func (d *draft) result(call ToolCall, how CallOutcome, out Outcome) error {
	added, err := d.after(call, out)
	if err != nil {
		return err
	}
	m := out.message(cmp.Or(d.v.Rules.Terms().Result, DefaultResult))
	m.Added = added
	if d.h.Calls[call.ID].Edited != "" && d.ran(call) {
		m.RanWith = d.effective(call).Arguments
	}
	return d.settleCall(call, out.Status(), how, m)
}

// ran says whether the body of a call that gets its result now was executed: by this owner, or by one that was lost and a person has told
// what came of it.
func (d *draft) ran(call ToolCall) bool {
	c := d.h.Calls[call.ID]
	rec := d.round.Decisions[c.Sus]
	told := c.Kind == KindUnknownOutcome && rec.Action == ActionResume && (rec.Error != "" || !IsNull(rec.Result))
	return c.Status == CallRunning || c.Status == CallResuming && told
}

// refuse fails a call whose body never runs.
func (d *draft) refuse(call ToolCall, how CallOutcome, why string) error {
	return d.result(call, how, Outcome{Failed: true, Text: why})
}

// suspendSelf is a tool's own wish to wait. In a sequential round, later calls that have not started are held behind it.
func (d *draft) suspendSelf(call ToolCall, o BodyOutcome) error {
	kind := o.Kind
	if kind == KindNone {
		kind = kindOf(o.Ticket.ResumeMode)
	}
	d.change(call.ID, func(c *Call) { c.Grant, c.Asked, c.Passed, c.Ran = "", "", "", c.Ran+1 }) // what the tool asks is not what a rule did
	ticket := *o.Ticket
	ticket.Scratch = o.Scratch
	if err := d.suspend(call, kind, ticket); err != nil {
		return err
	}
	behind := false
	for _, other := range d.round.Calls {
		c, tracked := d.h.Calls[other.ID]
		if behind && tracked && c.Status == CallNew && !d.v.Rules.Terms().Parallel {
			d.change(other.ID, func(c *Call) { c.Hold = call.ID })
		}
		behind = behind || other.ID == call.ID
	}
	return nil
}

// kindOf is the kind of a wait that does not say it: to run again is to be approved, anything else is to be answered.
func kindOf(m ResumeMode) Kind {
	if m == ReplayToolCall {
		return KindApproval
	}
	return KindInput
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
