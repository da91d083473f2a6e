package core

import (
	"fmt"
)

// settle closes or suspends every call that needs no body for it, resuming calls first, each in call order, and leaves
// those whose body may run.
func (d *draft) settle() error {
	for _, call := range d.round.Calls {
		if d.h.Calls[call.ID].Status == CallResuming {
			if err := d.settleResuming(call); err != nil {
				return err
			}
		}
	}
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		var err error
		switch {
		case !tracked:
		case c.Status == CallRunning && c.Intent != d.h.Epoch && d.atMostOnce(call):
			err = d.askOutcome(call)
		case c.Status == CallNew && c.Hold == "":
			err = d.settleNew(call)
		}
		if err != nil {
			return err
		}
	}
	return d.settleCrashing()
}

// settleNew checks a new call and asks its gate. Arguments come first: nobody is asked about a call that cannot run.
func (d *draft) settleNew(call ToolCall) error {
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return d.refuse(call, fmt.Sprintf("There is no tool named %q.", call.Name))
	}
	if err := d.v.Rules.Check(call); err != nil {
		d.event(EventCallInvalid, map[string]any{"call_id": call.ID, "tool_name": call.Name, "detail": err.Error()}, 0)
		return d.refuse(call, "The arguments are not valid: "+err.Error())
	}
	return d.gate(call, spec)
}

// gate applies the verdict on a call that is new or comes back with a decision.
func (d *draft) gate(call ToolCall, spec ToolSpec) error {
	v := d.v.Rules.Gate(call, d.state)
	switch {
	case v.Effect == Deny:
		return d.refuse(call, "Not allowed: "+orElse(v.Reason, "a rule forbids this call."))
	case v.Effect == Ask && !d.h.Calls[call.ID].Approved:
		return d.suspend(call, KindApproval, SuspendTicket{ResumeMode: v.Mode, Suspension: Suspension{Action: "approve",
			Message: orElse(v.Reason, call.Name+" needs approval before it runs."), ResponseSchema: v.Schema}})
	case spec.Client:
		return d.suspend(call, KindClient, SuspendTicket{ResumeMode: UseDecisionAsToolResult,
			Suspension: Suspension{Action: "execute", Message: "Run " + call.Name + " and send its result."}})
	}
	return nil
}

// settleResuming turns a decision into a result, or clears the call's body to run.
func (d *draft) settleResuming(call ToolCall) error {
	c := d.h.Calls[call.ID]
	rec, ok := d.round.Decisions[c.Sus]
	switch {
	case !ok:
		return d.refuse(call, "The decision on this call cannot be found any more.")
	case rec.Action == ActionCancel:
		return d.settleCall(call, CallCancelled, refusalText(c.Kind, rec.Reason))
	case rec.Error != "":
		return d.settleCall(call, CallFailed, rec.Error)
	case c.Kind == KindUnknownOutcome && !IsNull(rec.Result), c.Kind != KindUnknownOutcome && c.Mode == UseDecisionAsToolResult:
		return d.settleCall(call, CallSucceeded, resultText(rec.Result))
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return d.refuse(call, fmt.Sprintf("The tool %q does not exist any more; the call did not run.", call.Name))
	}
	return d.gate(call, spec)
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

// runnable is the first call whose body may run now: one with a decision before one without, in call order.
//
//	[running with my intent] > [resuming] > [new, not held]
func (d *draft) runnable() (ToolCall, bool) {
	for _, want := range []CallStatus{CallRunning, CallResuming, CallNew} {
		for _, call := range d.round.Calls {
			if c, ok := d.h.Calls[call.ID]; ok && c.Status == want && c.Hold == "" {
				return call, true
			}
		}
	}
	return ToolCall{}, false
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
	return spec.Delivery == AtMostOnce || spec.Delivery == DeliveryDefault && c.Approved
}

// askOutcome is for an at-most-once body whose end nobody saw.
//
//	intent committed ── body ──✗ process lost        the body ran, or not, or half
//	                          next owner: ask a person what happened
func (d *draft) askOutcome(call ToolCall) error {
	return d.suspend(call, KindUnknownOutcome, SuspendTicket{Suspension: Suspension{Action: "report_outcome",
		Message: call.Name + " was started, and it is not known whether it finished. Say what happened: its result, its error, or that it did not happen and may run."}})
}

// settleCrashing takes the call that seems to kill the process out of the way: it fails, or a person is asked.
func (d *draft) settleCrashing() error {
	if d.v.Limits.BodyTries == 0 || d.h.Tries < d.v.Limits.BodyTries {
		return nil
	}
	call, ok := d.runnable()
	if !ok {
		return nil
	}
	d.h.Tries = 0
	d.must = true
	if d.atMostOnce(call) {
		if err := d.begin(call); err != nil {
			return err
		}
		return d.askOutcome(call)
	}
	return d.settleCall(call, CallFailed, "The outcome of this call is unknown: the process was lost each time it ran.")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
