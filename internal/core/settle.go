package core

import "fmt"

// settle closes or suspends every call that needs no body for it, resuming calls first, each in call order, and clears those whose
// body may run. The one that seems to kill the process is not among them; those that waited for it are looked at again.
func (d *draft) settle() error {
	for again := true; again && !d.paused(); {
		if err := d.settleCalls(); err != nil || d.over != nil {
			return err
		}
		var err error
		if again, err = d.settleCrashing(); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) settleCalls() error {
	d.cleared = map[string]bool{}
	if err := d.eachIn(CallResuming, d.settleResuming); err != nil {
		return err
	}
	if err := d.eachIn(CallRunning, d.settleRunning); err != nil {
		return err
	}
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; !tracked || c.Status != CallNew || c.Hold != "" || d.inFlight(call) {
			continue
		}
		if on, err := d.settleNew(call); !on || err != nil || d.over != nil {
			return err
		}
	}
	return nil
}

// eachIn does something with each call of a status whose body is not in flight, in call order.
func (d *draft) eachIn(s CallStatus, do func(ToolCall) error) error {
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; tracked && c.Status == s && !d.inFlight(call) {
			if err := do(call); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleRunning clears a call whose body this owner is about to run, or that may run again. Of an at-most-once body that another owner
// began nobody knows.
func (d *draft) settleRunning(call ToolCall) error {
	if !d.runsAgain(call) || d.stopped[call.ID] && d.atMostOnce(call) {
		return d.askOutcome(call)
	}
	d.cleared[call.ID] = true
	return nil
}

// runsAgain says whether the body of a running call may run: its intent is this owner's, or it may run twice.
func (d *draft) runsAgain(call ToolCall) bool {
	return d.h.Calls[call.ID].Intent == d.h.Epoch || !d.atMostOnce(call)
}

// settleNew checks a new call and asks its gate. Arguments come first: nobody is asked about a call that cannot run. on is false if
// the calls before it must run first.
func (d *draft) settleNew(call ToolCall) (on bool, err error) {
	if fault := d.faults[call.ID]; fault != "" {
		return true, d.invalid(call, fault)
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return true, d.refuse(call, CallOutcomeUnknownTool, fmt.Sprintf("There is no tool named %q.", call.Name))
	}
	if err := d.check(call); err != nil {
		return true, d.invalid(call, err.Error())
	}
	if spec.Finish {
		return true, nil // when all others are settled
	}
	if why := d.overBudget(call); why != "" {
		return true, d.refuse(call, CallOutcomeBudgetExhausted, why)
	}
	return d.gate(call, spec)
}

// check says why a call cannot run with the arguments it has. What is not in its canonical form was journaled by an earlier
// program, or refused when it came.
func (d *draft) check(call ToolCall) error {
	if _, err := ReadArguments(call.Arguments); err != nil {
		return err
	}
	return d.v.Rules.Check(call)
}

// invalid fails a call whose arguments are refused. The model can correct them.
func (d *draft) invalid(call ToolCall, why string) error {
	d.event(EventCallInvalid, map[string]any{"call_id": call.ID, "tool_name": call.Name, "detail": why}, 0)
	return d.refuse(call, CallOutcomeInvalidArguments, "The arguments are not valid: "+why)
}

// overBudget says why a call is one too many. What was let through counts, whether it ran in the end or not.
func (d *draft) overBudget(call ToolCall) string {
	if d.h.Calls[call.ID].Counted {
		return ""
	}
	switch t := d.v.Rules.Terms(); {
	case t.StepCalls > 0 && d.h.StepCalls >= t.StepCalls:
		return fmt.Sprintf("budget_exhausted: a step may make at most %d tool calls; the call did not run.", t.StepCalls)
	case t.RunCalls > 0 && d.h.ToolCalls >= t.RunCalls:
		return fmt.Sprintf("budget_exhausted: this run may make at most %d tool calls; the call did not run.", t.RunCalls)
	}
	return ""
}

func (d *draft) letThrough(call ToolCall) {
	if d.h.Calls[call.ID].Counted {
		return
	}
	d.change(call.ID, func(c *Call) { c.Counted = true })
	d.h.StepCalls++
	d.h.ToolCalls++
}

// verdict is what the gate says of a call with the arguments that run, on the state as it is, once the approvals are looked at.
func (d *draft) verdict(call ToolCall) (v Verdict, granted bool) {
	return d.lifted(call, d.gateOn(d.effective(call)))
}

// lifted is what is left of a gate's verdict. An approval lifts the ask that it answered, and a
// grant lifts those that it covers; a result that is given in place of the body stays.
func (d *draft) lifted(call ToolCall, v Verdict) (rest Verdict, granted bool) {
	if v.Effect != Ask {
		return v, false
	}
	if v.Mode != ReplayToolCall {
		v.Grant = "" // there, an approval is an answer to this call, and no word on what may run
	}
	lifts := d.h.Calls[call.ID].Lifts
	lifted := lifts == anyAsk || lifts != "" && lifts == v.asks()
	granted = !lifted && d.granted(v.Grant)
	switch {
	case !lifted && !granted:
	case v.Result != nil:
		v.Effect = SetResult
	default:
		v.Effect = Allow
	}
	return v, granted
}

// gate applies the verdict on a call that is new or comes back with a decision. A new call that is not simply allowed waits for the
// bodies before it: they may change the state, and with it the verdict. Until then nothing is done about it.
func (d *draft) gate(call ToolCall, spec ToolSpec) (on bool, err error) {
	if last, keeps := d.keepsItsPlace(call); keeps {
		last, _ = d.lifted(call, last)
		return last.Effect == Allow, nil
	}
	v, granted := d.verdict(call)
	if v.Effect != Allow && d.h.Calls[call.ID].Status == CallNew && (len(d.cleared) > 0 || d.flying()) {
		return false, nil
	}
	switch v.Effect {
	case Block:
		reason := orElse(v.Reason, "a rule forbids this call.")
		d.over = &Reason{Kind: Blocked, Code: CodeBlockedByRule, Detail: reason}
		return false, d.refuse(call, CallOutcomeBlocked, "Blocked: "+reason)
	case Deny:
		return true, d.refuse(call, CallOutcomeDeniedByRule, "Not allowed: "+orElse(v.Reason, "a rule forbids this call."))
	case SetResult:
		return true, d.result(call, CallOutcomeSetByRule, set(v.Result))
	case Ask:
		preview, err := d.preview(call)
		if err != nil {
			return false, err
		}
		d.letThrough(call)
		d.change(call.ID, func(c *Call) { c.Grant, c.Asked = v.Grant, v.asks() })
		return true, d.suspend(call, KindApproval, SuspendTicket{ResumeMode: v.Mode, NotBy: v.NotBy, Preview: preview, Suspension: Suspension{Action: "approve",
			Message: orElse(v.Reason, call.Name+" needs approval before it runs."), ResponseSchema: v.Schema}})
	}
	d.letThrough(call)
	if spec.Client {
		return true, d.suspend(call, KindClient, SuspendTicket{ResumeMode: UseDecisionAsToolResult,
			Suspension: Suspension{Action: "execute", Message: "Run " + call.Name + " and send its result.", ResponseSchema: spec.Result}})
	}
	d.change(call.ID, func(c *Call) { c.Granted = granted })
	d.cleared[call.ID] = true
	return true, nil
}

// asks is what a verdict asks, and whom it bars, in short: an approval lifts the ask that it answered, and no other that has come up
// since. One that bars no one is digested as it was before rules could.
func (v Verdict) asks() string {
	text := v.Reason + "\x00" + v.Grant
	if v.NotBy != "" {
		text += "\x00" + v.NotBy
	}
	return Digest([]byte(text))[:12]
}

// set is the result that a gate gives in place of a body's; one that gives none has an empty one.
func set(out *Outcome) Outcome {
	if out == nil {
		return Outcome{}
	}
	return Outcome{Text: out.Text, Value: out.Value, Failed: out.Failed}
}

// settleResuming turns a decision into a result, or clears the call's body to run.
func (d *draft) settleResuming(call ToolCall) error {
	c := d.h.Calls[call.ID]
	rec, ok := d.round.Decisions[c.Sus]
	switch {
	case !ok:
		return d.refuse(call, CallOutcomeLost, "The decision on this call cannot be found any more.")
	case c.Pseudo:
		return d.settlePseudo(call, rec)
	case rec.Action == ActionCancel:
		return d.cancelCall(call, refusedBy(c.Kind).orTimedOut(rec), refusalText(c.Kind, rec.Reason))
	case rec.Error != "":
		if c.Kind == KindClient || c.Kind == KindUnknownOutcome {
			d.executed(call, true)
		}
		return d.refuse(call, CallOutcomeToolError.orTimedOut(rec), rec.Error)
	case rec.TimedOut:
		return d.result(call, CallOutcomeTimedOut, answered(rec.Result)) // whatever the mode: no approval says that it may run
	case c.Kind == KindUnknownOutcome && !IsNull(rec.Result), c.Kind != KindUnknownOutcome && c.Mode == UseDecisionAsToolResult:
		d.executed(call, false)
		return d.result(call, CallOutcomeSucceeded, answered(rec.Result))
	}
	return d.replay(call)
}

// replay clears a call to run again, if it still may.
func (d *draft) replay(call ToolCall) error {
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return d.refuse(call, CallOutcomeUnknownTool, fmt.Sprintf("The tool %q does not exist any more; the call did not run.", call.Name))
	}
	if d.h.Calls[call.ID].Edited != "" {
		if err := d.check(d.effective(call)); err != nil {
			return d.refuse(call, CallOutcomeInvalidArguments, "Not run: the edited arguments are not valid: "+err.Error())
		}
	} else if _, err := ReadArguments(call.Arguments); err != nil {
		return d.refuse(call, CallOutcomeInvalidArguments, "Not run: the arguments are not valid: "+err.Error())
	}
	_, err := d.gate(call, spec)
	return err
}

// cancelCall closes a call that a decision refused.
func (d *draft) cancelCall(call ToolCall, how CallOutcome, text string) error {
	added, err := d.after(call, Outcome{Failed: true, Text: text})
	if err != nil {
		return err
	}
	m := textResult(text)
	m.Added = added
	return d.settleCall(call, CallCancelled, how, m)
}

func refusalText(k Kind, reason string) string {
	text := "Cancelled: there is no result."
	switch k {
	case KindApproval:
		text = "Not approved: the call did not run."
	case KindUnknownOutcome:
		text = "Cancelled: it is not known whether the call took effect, and it was not run again."
	}
	if reason != "" {
		text += " Reason: " + reason
	}
	return text
}

// atMostOnce says which promise a call's body carries: as the tool says; if it says nothing, at most once as soon as a
// person was asked.
func (d *draft) atMostOnce(call ToolCall) bool {
	c := d.h.Calls[call.ID]
	if c.Intent != 0 {
		return true
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return true
	}
	return spec.Delivery == AtMostOnce || spec.Delivery == DeliveryDefault && (c.Approved || c.Granted)
}

// askOutcome is for an at-most-once body whose end nobody saw.
//
//	intent committed ── body ──✗ process lost        the body ran, or not, or half
//	                          next owner: ask a person what happened
func (d *draft) askOutcome(call ToolCall) error {
	d.change(call.ID, func(c *Call) { c.Ran++ })
	v := d.gateOn(d.effective(call)) // an approver who is barred from the call may not have it run again either
	return d.suspend(call, KindUnknownOutcome, SuspendTicket{NotBy: v.NotBy, Suspension: Suspension{Action: "report_outcome",
		Message: call.Name + " was started, and it is not known whether it finished. Say what happened: its result, its error, or that it did not happen and may run."}})
}

// settleCrashing takes the call that seems to kill the process out of the way: it fails, or a person is asked.
func (d *draft) settleCrashing() (took bool, err error) {
	if d.v.Limits.BodyTries == 0 || d.h.Tries < d.v.Limits.BodyTries {
		return false, nil
	}
	batch := d.batch()
	if len(batch) == 0 {
		return false, nil
	}
	call := batch[0]
	d.h.Tries = 0
	d.must = true
	if d.atMostOnce(call) {
		if err := d.begin(call); err != nil {
			return false, err
		}
		return true, d.askOutcome(call)
	}
	return true, d.refuse(call, CallOutcomeLost, "The outcome of this call is unknown: its process was lost again and again, before or while it ran.")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
