package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
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
			return Plan{}, err
		}
		if d.over == nil {
			d.over = e.End
		}
		if d.over != nil {
			return d.end(*d.over)
		}
	}
	request, _ := d.request(e, step)
	return Plan{Ask: &request}, nil
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
	d.h.ModelTries, d.h.NotBefore = 0, 0
	d.stepStarted(*d.v.Turn)
	request, err := d.takeRequest()
	if err != nil {
		return err
	}
	after, err := d.fire(Firing{Phase: AfterInference, Turn: d.v.Turn})
	if err != nil {
		return err
	}
	t := *d.v.Turn
	t.Calls = slices.DeleteFunc(slices.Clone(t.Calls), func(c ToolCall) bool { return slices.Contains(after.Drop, c.ID) })
	d.countTokens(t)
	if err := d.newRound(t, request); err != nil {
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

func (d *draft) stepStarted(t Turn) {
	if usage := t.usage(); usage != nil {
		d.event(EventStepStarted, usage, 0)
		return
	}
	d.event(EventStepStarted, nil, 0)
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

// newRound makes the turn the current round. Calls of earlier rounds that still wait stay with it.
func (d *draft) newRound(t Turn, request Request) error {
	used := cloneMap(d.v.Used)
	old := d.keepOpen(used)
	calls := make([]ToolCall, len(t.Calls))
	renamed := map[string][]string{}
	for i, c := range t.Calls {
		given := c.ID
		c.ID = UniqueCallID(used, c.ID)
		renamed[given] = append(renamed[given], c.ID)
		c.Name = strings.ToValidUTF8(c.Name, "\ufffd")
		c.Arguments = asJSON(c.Arguments)
		calls[i] = c
	}
	m := d.message(Message{Role: RoleAssistant, Parts: t.parts(calls, renamed), Calls: calls})
	if ReasoningOf(t.Content) != "" {
		d.event(EventReasoningEnded, map[string]any{"part_id": PartID(ReasoningPart, d.h.Step)}, m)
	}
	if t.Text != "" {
		d.event(EventTextEnded, map[string]any{"part_id": PartID(TextPart, d.h.Step)}, m)
	}
	d.h.Round = d.seq()
	d.round.Calls = append(old, calls...)
	for i, c := range calls {
		d.h.Calls[c.ID] = Call{}
		d.event(EventCallReady, map[string]any{"call_id": c.ID}, m)
		why := ""
		switch {
		case len(old)+i >= d.v.Limits.Calls:
			why = fmt.Sprintf("Not run: at most %d tool calls may be open at a time.", d.v.Limits.Calls)
		case !request.Offers(c.Name):
			why = fmt.Sprintf("Not run: the tool %q is not offered in this step.", c.Name)
		default:
			continue
		}
		if err := d.settleCall(c, CallFailed, why); err != nil {
			return err
		}
		if len(old)+i >= d.v.Limits.Calls {
			delete(d.h.Calls, c.ID)
		}
	}
	return nil
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

// asJSON is raw, if it is JSON; no arguments are an empty object, and any other text is that text as a JSON string.
func asJSON(raw json.RawMessage) json.RawMessage {
	switch {
	case len(jsonTrim(raw)) == 0:
		return json.RawMessage("{}")
	case !json.Valid(raw):
		return Encode(string(raw))
	}
	return bytes.ToValidUTF8(raw, []byte("\ufffd"))
}

// yieldPause is how long a run that made way for others waits, in ms.
const yieldPause = 5000

// foldFailure handles a model call that brought no turn, or one that is not accepted. settled says that the plan is made.
func (d *draft) foldFailure() (plan Plan, settled bool, err error) {
	switch f := d.v.Failure; {
	case d.v.Yielded:
		plan, err = d.releasePartial()
	case f == nil:
		return Plan{}, false, nil
	case !f.Again, d.h.ModelTries+1 >= d.v.Limits.modelTries(f.Busy):
		d.h.ModelTries++
		plan, err = d.end(f.Reason)
	default:
		d.h.ModelTries++
		d.h.NotBefore = d.v.Now + min(max(backoff(d.h.ModelTries), f.After), longestWait)
		d.event(EventStepReset, map[string]any{"reason": "model_unavailable", "code": f.Reason.Code, "text": f.Reason.Detail, "try": d.h.ModelTries,
			"try_at": d.h.NotBefore}, 0)
		plan, err = d.releaseRunning()
	}
	return plan, true, err
}

// yield drops the turn: it cost something, and nobody acts on it.
func (d *draft) yield() {
	if !d.v.Yielded {
		return
	}
	t := *d.v.Turn
	d.countTokens(t)
	d.h.Yields++
	d.h.NotBefore = d.v.Now + yieldPause
	d.event(EventStepReset, map[string]any{"reason": "yielded", "text": orElse(t.Text, "The run made way for others before it had said anything.")}, 0)
}

// longestWait is how long a run waits at most before it asks the model again, whatever the provider says.
const longestWait = 15 * 60_000

// backoff is how many ms to wait after the n-th failure in a row.
func backoff(n int) int64 { return min(60_000, int64(1000)<<min(max(n, 0), 10)) }
