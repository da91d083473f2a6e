package planner

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/callid"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// foldTurn adds the model's answer: one assistant message, and its calls as new. Stop rules look at
// it before any of them runs.
func (d *draft) foldTurn() error {
	if d.v.Turn == nil || d.v.Yielded {
		return nil
	}
	d.closeRound()
	d.h.Step++
	d.h.StepOpen, d.h.ModelSawAll, d.h.UserSpokeSince = true, true, false
	d.h.YieldsInRow = 0
	d.modelAnswered()
	d.event(core.EventStepStarted, d.v.Turn.StepStarted(d.v.Rules.Terms().Price), 0)
	request, err := d.takeRequest()
	if err != nil {
		return err
	}
	t, faults := strict.Turn(*d.v.Turn)
	after, err := d.fire(core.Firing{Phase: core.AfterInference, Turn: &t})
	if err != nil {
		return err
	}
	t, faults = t.Without(after.Drop, faults)
	d.countTokens(t)
	d.countCost(t)
	if err := d.newRound(t, faults, request); err != nil {
		return err
	}
	if d.over == nil {
		d.over = after.End
	}
	if d.over == nil {
		d.over = t.End
	}
	if d.over == nil {
		d.over = stoprule.First(d.v.Rules.Terms().Stops, d.progress(t), len(t.Calls) == 0 || d.finishes(d.round.Calls))
	}
	if d.over == nil {
		d.over = d.overCost(len(t.Calls) == 0 || d.finishes(d.round.Calls))
	}
	d.h.Rounds = stoprule.Remember(d.v.Rules.Terms().Stops, d.h.Rounds, t)
	d.must = true
	return nil
}

// takeRequest folds in what the hooks before the model call wanted, and returns the request that it
// was.
func (d *draft) takeRequest() (plans.Request, error) {
	if _, err := d.takeFired(core.StepStart, ""); err != nil {
		return plans.Request{}, err
	}
	before, err := d.takeFired(core.BeforeInference, "")
	if err != nil {
		return plans.Request{}, err
	}
	request, shown := plans.NewRequest(before, d.h.Step, d.state)
	d.writeState(shown)
	return request, nil
}

// newRound makes the turn the current round. Calls of earlier rounds that still wait stay with it.
// faults says of each call what is wrong with its arguments.
func (d *draft) newRound(t core.Turn, faults []string, request plans.Request) error {
	used := &callid.Used{Before: d.v.UsedCallID}
	old := d.keepOpen(used)
	calls := make([]core.ToolCall, len(t.Calls))
	renamed := map[string][]string{}
	for i, c := range t.Calls {
		calls[i] = c
		calls[i].ID = used.Unique(c.ID)
		renamed[c.ID] = append(renamed[c.ID], calls[i].ID)
		if faults[i] != "" {
			d.faults[calls[i].ID] = faults[i]
		}
	}
	m := d.message(core.Message{Role: core.RoleAssistant, Parts: t.Parts(calls, renamed), Calls: calls, Cut: t.Cut})
	if core.ReasoningOf(t.Content) != "" {
		d.event(core.EventReasoningEnded, events.Spoken{PartID: core.PartID(d.h.Run, core.ReasoningPart, d.h.Step), Cut: t.Cut}, m)
	}
	if t.Text != "" {
		d.event(core.EventTextEnded, events.Spoken{PartID: core.PartID(d.h.Run, core.TextPart, d.h.Step), Cut: t.Cut}, m)
	}
	d.h.Round = d.seq()
	d.round.Calls, d.round.LateWords = append(old, calls...), false
	for i, c := range calls {
		d.h.Calls[c.ID] = core.Call{}
		spec, _ := d.v.Rules.Tool(c.Name)
		d.event(core.EventCallReady, events.Ready{CallID: c.ID, Client: spec.Client}, m)
		why, how := "", core.CallOutcomeBudgetExhausted
		switch {
		case len(old)+i >= d.v.Limits.Calls:
			why = fmt.Sprintf("Not run: at most %d tool calls may be open at a time.", d.v.Limits.Calls)
		case !request.Offers(c.Name):
			why, how = fmt.Sprintf("Not run: the tool %q is not offered in this step.", c.Name), core.CallOutcomeNotOffered
		default:
			continue
		}
		if err := d.settleCall(c, core.CallFailed, how, core.TextResult(why)); err != nil {
			return err
		}
		if len(old)+i >= d.v.Limits.Calls {
			delete(d.h.Calls, c.ID)
		}
	}
	return nil
}

// keepOpen lets go of the settled calls of the round before and returns those that go on waiting.
func (d *draft) keepOpen(used *callid.Used) (open []core.ToolCall) {
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		if !tracked || c.Status.Terminal() {
			continue
		}
		if c.TurnSegment == 0 && !c.Synthetic {
			d.change(call.ID, func(c *core.Call) { c.TurnSegment = d.h.Round })
		}
		used.Take(call.ID)
		open = append(open, call)
	}
	for id, c := range d.h.Calls {
		if c.Status.Terminal() {
			delete(d.h.Calls, id)
		}
	}
	return open
}
