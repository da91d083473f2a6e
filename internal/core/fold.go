package core

import (
	"encoding/json"
	"fmt"
)

// foldSent takes out of the outbox what was sent.
func (d *draft) foldSent() {
	for _, key := range d.v.Sent {
		delete(d.h.Out, key)
		d.must = true
	}
}

// foldTurn adds the model's answer: one assistant message, and its calls as new.
func (d *draft) foldTurn() error {
	t := d.v.Turn
	if t == nil {
		return nil
	}
	d.h.Step++
	d.h.StepOpen = true
	d.h.InputTokens += t.InputTokens
	d.h.OutputTokens += t.OutputTokens
	d.h.ModelTries, d.h.NotBefore = 0, 0
	d.event(EventStepStarted, nil, 0)
	calls := make([]ToolCall, len(t.Calls))
	used := cloneMap(d.v.Used)
	for i, c := range t.Calls {
		c.ID = UniqueCallID(used, c.ID)
		c.Arguments = asJSON(c.Arguments)
		calls[i] = c
	}
	m := d.message(Message{Role: RoleAssistant, Parts: TextParts(t.Text), Calls: calls})
	if t.Text != "" {
		d.event(EventTextEnded, nil, m)
	}
	d.h.Round = d.seq()
	d.h.Calls = make(map[string]Call, len(calls))
	d.round = Round{Calls: calls, Decisions: map[string]DecisionRecord{}}
	for i, c := range calls {
		d.h.Calls[c.ID] = Call{}
		d.event(EventCallReady, map[string]any{"call_id": c.ID}, m)
		if i >= d.v.Limits.Calls {
			if err := d.refuse(c, fmt.Sprintf("Not run: one turn may ask for at most %d tool calls.", d.v.Limits.Calls)); err != nil {
				return err
			}
			delete(d.h.Calls, c.ID)
		}
	}
	d.finalTurn = len(calls) == 0
	d.must = true
	return nil
}

// asJSON is raw, if it is JSON; no arguments are an empty object, and any other text is that text as a JSON string.
func asJSON(raw json.RawMessage) json.RawMessage {
	switch {
	case len(jsonTrim(raw)) == 0:
		return json.RawMessage("{}")
	case !json.Valid(raw):
		return Encode(string(raw))
	}
	return raw
}

// refuse fails a call whose body never runs.
func (d *draft) refuse(call ToolCall, why string) error { return d.settleCall(call, CallFailed, why) }

// foldOutcomes adds what came of bodies.
func (d *draft) foldOutcomes() error {
	for _, o := range d.v.Outcomes {
		call, ok := d.call(o.CallID)
		if !ok {
			return fmt.Errorf("core: an outcome for call %q, which is not in this round", o.CallID)
		}
		if err := d.foldOutcome(call, o); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) foldOutcome(call ToolCall, o BodyOutcome) error {
	amo := d.atMostOnce(call)
	if err := d.begin(call); err != nil {
		return err
	}
	if amo {
		d.must = true
	}
	_, cancelled := d.h.Inbox[KeyCancel]
	switch {
	case o.Interrupted && cancelled:
		return nil // the end closes it
	case o.Interrupted && amo:
		return d.askOutcome(call)
	case o.Interrupted:
		return d.settleCall(call, CallFailed, "The tool did not finish in the time it had.")
	case o.Ticket != nil:
		return d.suspendSelf(call, o)
	case o.Failed:
		return d.settleCall(call, CallFailed, o.Text)
	}
	return d.settleCall(call, CallSucceeded, o.Text)
}

// suspendSelf is a tool's own wish to wait. The round is sequential: later calls that have not started are held behind it.
func (d *draft) suspendSelf(call ToolCall, o BodyOutcome) error {
	kind := o.Kind
	if kind == KindNone {
		kind = KindInput
		if o.Ticket.ResumeMode == ReplayToolCall {
			kind = KindApproval
		}
	}
	if err := d.suspend(call, kind, *o.Ticket); err != nil {
		return err
	}
	behind := false
	for _, other := range d.round.Calls {
		if c := d.h.Calls[other.ID]; behind && c.Status == CallNew {
			if _, tracked := d.h.Calls[other.ID]; tracked {
				c.Hold = call.ID
				d.h.Calls[other.ID] = c
			}
		}
		behind = behind || other.ID == call.ID
	}
	return nil
}

// foldFailure handles a model call that brought no turn. settled says that the plan is made.
func (d *draft) foldFailure() (plan Plan, settled bool, err error) {
	f := d.v.Failure
	if f == nil {
		return Plan{}, false, nil
	}
	if !f.Again {
		plan, err = d.end(f.Reason)
		return plan, true, err
	}
	d.h.ModelTries++
	if d.h.ModelTries >= d.v.Limits.ModelTries {
		plan, err = d.end(f.Reason)
		return plan, true, err
	}
	d.h.NotBefore = d.v.Now + backoff(d.h.ModelTries)
	plan, err = d.releaseRunning()
	return plan, true, err
}

// backoff is how many ms to wait after the n-th failure in a row.
func backoff(n int) int64 { return min(60_000, int64(1000)<<min(n, 10)) }

func (d *draft) call(id string) (ToolCall, bool) {
	for _, c := range d.round.Calls {
		if c.ID == id {
			_, tracked := d.h.Calls[id]
			return c, tracked
		}
	}
	return ToolCall{}, false
}
