package core

import (
	"encoding/json"
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
	NoUsage      bool  // the provider did not report usage; it counts as zero
}

// Without is the turn without the calls of the given ids, and what is wrong with those that are
// left.
func (t Turn) Without(ids []string, faults []string) (Turn, []string) {
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

// Parts returns the turn's content as it is stored, after its calls got ids that are unique in the
// thread: renamed maps the ids that the model gave, possibly twice, to the new ones. The position
// of a call is stored only if another part follows it.
func (t Turn) Parts(calls []ToolCall, renamed map[string][]string) []Part {
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
// tokens. Cost is absent if it is not known.
type stepStarted struct {
	AskedAt      int64           `json:"asked_at,omitempty"`
	LatencyMS    *int64          `json:"latency_ms,omitempty"`     // until the answer was there
	FirstTokenMS *int64          `json:"first_token_ms,omitempty"` // until its first words
	Usage        json.RawMessage `json:"usage,omitempty"`
	Cost         *Cost           `json:"cost,omitempty"`
}

// turnUsage is what a turn says that it used.
type turnUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_tokens,omitempty"`
	CacheWritten int64 `json:"cache_write_tokens,omitempty"`
}

// StepStarted returns the data of the step.started event for the turn, with its cost at the price;
// nil if no price is known.
func (t Turn) StepStarted(price *Price) stepStarted {
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
	if price != nil {
		if usd, known := price.Of(t); known {
			s.Cost = &Cost{USD: usd}
		}
	}
	return s
}

func since(from, to int64) *int64 {
	ms := max(0, to-from)
	return &ms
}
