package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Turn is a model's answer.
type Turn struct {
	Text  string // all of its text
	Calls []ToolCall

	// Content is what the answer is made of, in its order, if that is more than Text and behind
	// it the calls: reasoning, or a call with something behind it. Its text parts together are
	// Text; a call's place names the id that the call has in Calls.
	Content []Part

	// Cut: the model was stopped in the middle of its text, by a cancel. What it said is kept,
	// and marked.
	Cut bool

	AskedAt int64 // when the model was asked; 0: not known
	FirstAt int64 // when its first words came; 0: it did not speak, or no reader listened
	EndedAt int64 // when its answer was there

	// End is set if the provider cut the answer off or withheld it. What there is of it is
	// kept, none of its calls runs, and the run ends so.
	End *Reason

	InputTokens  int64 // all that was read, from a cache or not
	OutputTokens int64
	CacheRead    int64 // of InputTokens, what came out of the provider's cache
	CacheWritten int64 // of InputTokens, what was put into it
	NoUsage      bool  // nobody said what the answer used; it counts as nothing
}

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

// without is the turn without the calls of the given ids, and what is wrong with those that are
// left.
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

// takeRequest folds in what the hooks before the model call wanted, and returns the request that it
// was.
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
// faults says of each call what is wrong with its arguments.
func (d *draft) newRound(t Turn, faults []string, request Request) error {
	used := cloneMap(d.v.UsedCallIDs)
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
		if c.TurnSegment == 0 && !c.Synthetic {
			d.change(call.ID, func(c *Call) { c.TurnSegment = d.h.Round })
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

// parts is the turn's content as it is stored, once its calls have the ids that the thread knows
// them by: renamed holds them by the id that the model gave, of which it may have given one twice.
// A call's place is kept only where something stands behind it.
func (t Turn) parts(calls []ToolCall, renamed map[string][]string) []Part {
	if t.Content == nil {
		return TextParts(t.Text)
	}
	var out []Part
	for _, p := range t.Content {
		if p.Type == PartCall {
			ids := renamed[p.Call]
			if len(ids) == 0 {
				continue
			}
			p.Call, renamed[p.Call] = ids[0], ids[1:]
		}
		p.Text, p.Name = strings.ToValidUTF8(p.Text, "\ufffd"), strings.ToValidUTF8(p.Name, "\ufffd")
		out = append(out, p)
	}
	for i := len(calls) - 1; i >= 0 && len(out) > 0 && out[len(out)-1].Type == PartCall && out[len(out)-1].Call == calls[i].ID; i-- {
		out = out[:len(out)-1]
	}
	return out
}

// stepStarted is the data of a step.started event, which is committed with the model's answer.
// Usage is null if the provider did not say what the answer used, and absent if the model counts no
// tokens.
type stepStarted struct {
	AskedAt      int64           `json:"asked_at,omitempty"`
	LatencyMS    *int64          `json:"latency_ms,omitempty"`     // until the answer was there
	FirstTokenMS *int64          `json:"first_token_ms,omitempty"` // until its first words
	Usage        json.RawMessage `json:"usage,omitempty"`
}

// turnUsage is what a turn says that it used.
type turnUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_tokens,omitempty"`
	CacheWritten int64 `json:"cache_write_tokens,omitempty"`
}

// told is what a step.started event says of the turn.
func (t Turn) told() stepStarted {
	s := stepStarted{AskedAt: t.AskedAt}
	if t.AskedAt != 0 {
		s.LatencyMS = since(t.AskedAt, t.EndedAt)
		if t.FirstAt != 0 {
			s.FirstTokenMS = since(t.AskedAt, t.FirstAt)
		}
	}
	switch {
	case t.NoUsage:
		s.Usage = json.RawMessage("null")
	case t.InputTokens != 0 || t.OutputTokens != 0:
		s.Usage = Encode(turnUsage{t.InputTokens, t.OutputTokens, max(0, t.CacheRead), max(0, t.CacheWritten)})
	}
	return s
}

func since(from, to int64) *int64 {
	ms := max(0, to-from)
	return &ms
}
