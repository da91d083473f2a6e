package planner

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// foldOutcomes folds in the outcomes of bodies, and the hooks before those in flight. Writes of
// overlapping bodies must not conflict.
func (d *draft) foldOutcomes() error {
	if err := d.v.Contradiction(); err != nil {
		return err
	}
	for _, o := range d.v.Outcomes {
		if !o.Missing {
			d.spans[o.CallID] = core.Span{Began: o.Began, Ended: o.Ended}
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

// beginBodies folds in what preceded the bodies that had seen no more than saw outcomes. The hooks
// before a body have seen the writes of the hooks before the others, but not those of the other
// bodies.
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
func (d *draft) beginBody(call core.ToolCall) error {
	d.begun[call.ID] = true
	d.letThrough(call) // if its gate opened after the last commit
	if err := d.begin(call); err != nil {
		return err
	}
	d.change(call.ID, func(c *core.Call) { c.HooksEpoch = 0 })
	_, err := d.takeFired(core.BeforeToolExecute, call.ID)
	return err
}

// keepHooks folds in what the hooks before a body in flight wanted, so that they are not called
// again. The start of the call is left out: an owner that has to run the body again asks its gate,
// on the state of that moment.
func (d *draft) keepHooks(call core.ToolCall) error {
	d.begun[call.ID] = true
	d.letThrough(call)
	if d.h.Calls[call.ID].Status != core.CallRunning {
		d.change(call.ID, func(c *core.Call) { c.HooksEpoch = d.h.Epoch })
	}
	_, err := d.takeFired(core.BeforeToolExecute, call.ID)
	return err
}

func (d *draft) foldOutcome(call core.ToolCall, o plans.BodyOutcome) error {
	amo := d.atMostOnce(call)
	if amo {
		d.must = true
	}
	how := o.Outcome.CallOutcome()
	_, cancelled := d.h.Inbox[core.KeyCancel]
	switch {
	case o.Interrupted && (cancelled || d.v.Cancelled):
		return nil // the end closes it
	case o.Interrupted && o.Stopping:
		d.stopped[call.ID] = true
		return nil // as well
	case o.Interrupted && amo:
		return d.askWhatHappened(call)
	case o.Interrupted:
		how, o.Outcome = core.CallOutcomeOutOfTime, core.Outcome{Failed: true, Text: "The tool did not finish in time."}
	case o.Missing:
		how = core.CallOutcomeUnknownTool
	}
	if err := d.checkState(o.State); err != nil {
		how, o.Outcome = core.CallOutcomeToolError, core.Outcome{Failed: true, Text: "The tool ran, but its writes to the shared state were discarded: " + err.Error() + "."}
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

// executed counts a call whose work was done, here or elsewhere.
func (d *draft) executed(call core.ToolCall, failed bool) {
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
func (d *draft) after(call core.ToolCall, out core.Outcome) (added string, err error) {
	ran := d.effective(call)
	effects, err := d.fire(core.Firing{Phase: core.AfterToolExecute, Call: &ran, Outcome: &out})
	return effects.Append, err
}

// result closes a call with what the model will see.
func (d *draft) result(call core.ToolCall, how core.CallOutcome, out core.Outcome) error {
	added, err := d.after(call, out)
	if err != nil {
		return err
	}
	m := out.Message(cmp.Or(d.v.Rules.Terms().Result, core.DefaultResult))
	m.Added = added
	if d.ran(call) {
		m.RanWith = d.editedArguments(call)
	}
	return d.settleCall(call, out.Status(), how, m)
}

// ran reports whether the call that gets its result now was executed: by this owner, by a crashed
// one whose outcome a person reported, or by a child.
func (d *draft) ran(call core.ToolCall) bool {
	c := d.h.Calls[call.ID]
	rec := d.round.Decisions[c.Sus]
	told := c.Kind == core.KindUnknownOutcome && rec.Action == core.ActionResume && (rec.Error != "" || !core.IsNull(rec.Result))
	return c.Status == core.CallRunning || c.Status == core.CallResuming && (told || c.Kind == core.KindChild)
}
