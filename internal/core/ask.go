package core

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Request is what hooks have made of a step's model call.
type Request struct {
	Step     int
	Context  []string // text for this request only, behind the conversation
	Override *Override
	Include  []string // empty: all
	Exclude  []string
}

// Offers says whether the request names the tool to the model.
func (r Request) Offers(tool string) bool {
	return (len(r.Include) == 0 || slices.Contains(r.Include, tool)) && !slices.Contains(r.Exclude, tool)
}

// ask calls the hooks before a model call, then asks for it. What they want becomes durable with the turn: after a crash in between
// they are called again.
func (d *draft) ask() (Plan, error) {
	step := d.h.Step + 1
	var e Effects
	for _, phase := range []Phase{StepStart, BeforeInference} {
		var err error
		if e, err = d.fire(Firing{Phase: phase, Step: step}); err != nil {
			return nil, err
		}
		if d.over == nil {
			d.over = e.End
		}
		if d.over != nil {
			return d.end(*d.over)
		}
	}
	request, _ := d.request(e, step)
	return AskModel{request}, nil
}

// request is what the hooks' wishes come to, and the writes that remember which context was shown.
func (d *draft) request(e Effects, step int) (Request, []StateOp) {
	r := Request{Step: step, Override: e.Override, Include: e.Include, Exclude: e.Exclude}
	var shown []StateOp
	for _, m := range e.Context {
		mark, due := d.contextDue(m, step)
		if !due {
			continue
		}
		r.Context = append(r.Context, m.Text)
		if m.Cooldown > 1 {
			shown = append(shown, mark)
		}
	}
	return r, shown
}

// lastShown is the state's memory of a context message.
type lastShown struct {
	Digest string `json:"digest"`
	Step   int    `json:"step"`
}

func (d *draft) contextDue(m ContextMessage, step int) (mark StateOp, due bool) {
	now := lastShown{Digest: Digest([]byte(m.Text))[:12], Step: step}
	mark = StateOp{Key: "dormouse.context/" + m.Key, Op: StateSet, Value: Encode(now)}
	var last lastShown
	if raw := d.state.Get(RunScope, mark.Key); raw == nil || json.Unmarshal(raw, &last) != nil {
		return mark, true
	}
	return mark, last.Digest != now.Digest || step-last.Step >= m.Cooldown
}

// foldTurn adds the model's answer: one assistant message, and its calls as new. Stop rules look at it before any of them runs.
func (d *draft) foldTurn() error {
	if d.v.Turn == nil || d.v.Yielded {
		return nil
	}
	d.closeRound()
	d.h.Step++
	d.h.StepOpen, d.h.Told, d.h.Spoken = true, true, false
	d.h.YieldsInRow = 0
	d.modelAnswered()
	d.event(EventStepStarted, d.v.Turn.told(), 0)
	request, err := d.takeRequest()
	if err != nil {
		return err
	}
	t, faults := d.v.Turn.read()
	after, err := d.fire(Firing{Phase: AfterInference, Turn: &t})
	if err != nil {
		return err
	}
	t, faults = t.without(after.Drop, faults)
	d.countTokens(t)
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
		d.over = stopOf(d.v.Rules.Terms().Stops, d.progress(t), len(t.Calls) == 0 || d.finishes(d.round.Calls))
	}
	d.remember(t)
	d.must = true
	return nil
}

// without is the turn without the calls of the given ids, and what is wrong with those that are left.
func (t Turn) without(ids []string, faults []string) (Turn, []string) {
	var calls []ToolCall
	var rest []string
	for i, c := range t.Calls {
		if !slices.Contains(ids, c.ID) {
			calls, rest = append(calls, c), append(rest, faults[i])
		}
	}
	t.Calls = calls
	return t, rest
}

// countTokens adds what a turn says that it cost. It is told by others: nothing gives budget back, and no sum of sums overflows.
func (d *draft) countTokens(t Turn) {
	add := func(to *int64, n int64) { *to = min(*to+min(max(n, 0), math.MaxInt64/4), math.MaxInt64/4) }
	add(&d.h.InputTokens, t.InputTokens)
	add(&d.h.OutputTokens, t.OutputTokens)
}

// takeRequest folds in what the hooks before the model call wanted, and returns the request that it was.
func (d *draft) takeRequest() (Request, error) {
	if _, err := d.takeFired(StepStart, ""); err != nil {
		return Request{}, err
	}
	before, err := d.takeFired(BeforeInference, "")
	if err != nil {
		return Request{}, err
	}
	request, shown := d.request(before, d.h.Step)
	d.writeState(shown)
	return request, nil
}

// newRound makes the turn the current round. Calls of earlier rounds that still wait stay with it. faults says of each call what is wrong
// with its arguments.
func (d *draft) newRound(t Turn, faults []string, request Request) error {
	used := cloneMap(d.v.Used)
	old := d.keepOpen(used)
	calls := make([]ToolCall, len(t.Calls))
	renamed := map[string][]string{}
	for i, c := range t.Calls {
		given := c.ID
		c.ID = UniqueCallID(used, c.ID)
		renamed[given] = append(renamed[given], c.ID)
		calls[i] = c
		if faults[i] != "" {
			d.faults[c.ID] = faults[i]
		}
	}
	m := d.message(Message{Role: RoleAssistant, Parts: t.parts(calls, renamed), Calls: calls, Cut: t.Cut})
	if ReasoningOf(t.Content) != "" {
		d.event(EventReasoningEnded, spoken{PartID(d.h.Run, ReasoningPart, d.h.Step), t.Cut}, m)
	}
	if t.Text != "" {
		d.event(EventTextEnded, spoken{PartID(d.h.Run, TextPart, d.h.Step), t.Cut}, m)
	}
	d.h.Round = d.seq()
	d.round.Calls, d.round.LateWords = append(old, calls...), false
	for i, c := range calls {
		d.h.Calls[c.ID] = Call{}
		d.event(EventCallReady, map[string]any{"call_id": c.ID}, m)
		why, how := "", CallOutcomeBudgetExhausted
		switch {
		case len(old)+i >= d.v.Limits.Calls:
			why = fmt.Sprintf("Not run: at most %d tool calls may be open at a time.", d.v.Limits.Calls)
		case !request.Offers(c.Name):
			why, how = fmt.Sprintf("Not run: the tool %q is not offered in this step.", c.Name), CallOutcomeNotOffered
		default:
			continue
		}
		if err := d.settleCall(c, CallFailed, how, textResult(why)); err != nil {
			return err
		}
		if len(old)+i >= d.v.Limits.Calls {
			delete(d.h.Calls, c.ID)
		}
	}
	return nil
}

// spoken is the data of text.ended and reasoning.ended events; the text is the message's.
type spoken struct {
	PartID string `json:"part_id"`
	Cut    bool   `json:"cut,omitempty"` // the model was stopped in the middle of it
}

// keepOpen lets go of the settled calls of the round before and returns those that go on waiting.
func (d *draft) keepOpen(used map[string]bool) (open []ToolCall) {
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		if !tracked || c.Status.Terminal() {
			continue
		}
		if c.From == 0 && !c.Pseudo {
			d.change(call.ID, func(c *Call) { c.From = d.h.Round })
		}
		used[call.ID] = true
		open = append(open, call)
	}
	for id, c := range d.h.Calls {
		if c.Status.Terminal() {
			delete(d.h.Calls, id)
		}
	}
	return open
}
