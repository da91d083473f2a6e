package core

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// The types of a [Part].
const (
	PartText      = "text"
	PartReasoning = "reasoning" // what the model thought; it goes back to the provider that wrote it, byte for byte
	PartImage     = "image"
	PartDocument  = "document"
	PartCall      = "call" // the place of a call among the other parts, where it is not behind them all
)

// Part is one piece of a message's content. What a field is for says the type; others are empty.
type Part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`                 // of text and reasoning
	Media string `json:"media_type,omitempty"` // of an image or a document: "image/png", "application/pdf"
	Name  string `json:"name,omitempty"`       // of a document; untrusted
	Data  []byte `json:"data,omitempty"`       // of an image or a document
	Call  string `json:"call_id,omitempty"`    // of a call's place

	// Provider names who wrote a reasoning part, and Sealed is what that one wants back with it unchanged: a signature, or what nobody else
	// can read. To any other provider the part says nothing and is left out.
	Provider string `json:"provider,omitempty"`
	Sealed   []byte `json:"sealed,omitempty"`
}

// MarshalJSON leaves the text out where there is none to be.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	if p.Type == PartText || p.Type == "" || p.Text != "" {
		return EncodeAny(plain(p))
	}
	return EncodeAny(struct {
		plain
		Text string `json:"text,omitempty"`
	}{plain: plain(p)})
}

// TextParts is text as a message's content; empty text is no part at all.
func TextParts(text string) []Part {
	if text == "" {
		return nil
	}
	return []Part{{Type: PartText, Text: text}}
}

// TextOf is the text of a content, its text parts joined. Reasoning is none.
func TextOf(parts []Part) string { return joined(parts, PartText) }

// ReasoningOf is what a content's reasoning parts say.
func ReasoningOf(parts []Part) string { return joined(parts, PartReasoning) }

func joined(parts []Part, kind string) string {
	if len(parts) == 1 && parts[0].Type == kind {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == kind {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Text is the message's text as one string.
func (m Message) Text() string { return TextOf(m.Parts) }

// Blocks are the message's parts with the place of every call among them: as the model gave them.
func (m Message) Blocks() []Part {
	placed := map[string]bool{}
	for _, p := range m.Parts {
		if p.Type == PartCall {
			placed[p.Call] = true
		}
	}
	blocks := slices.Clone(m.Parts)
	for _, c := range m.Calls {
		if !placed[c.ID] {
			blocks = append(blocks, Part{Type: PartCall, Call: c.ID})
		}
	}
	return blocks
}

// Turn is a model's answer.
type Turn struct {
	Text  string // all of its text
	Calls []ToolCall

	// Content is what the answer is made of, in its order, if that is more than Text and behind it the calls: reasoning, or a call with
	// something behind it. Its text parts together are Text; a call's place names the id that the call has in Calls.
	Content []Part

	// Cut: the model was stopped in the middle of its text, by a cancel. What it said is kept, and marked.
	Cut bool

	AskedAt int64 // when the model was asked; 0: not known
	FirstAt int64 // when its first words came; 0: it did not speak, or no reader listened
	EndedAt int64 // when its answer was there

	// End is set if the provider cut the answer off or withheld it. What there is of it is kept, none of its calls runs, and the run ends so.
	End *Reason

	InputTokens  int64 // all that was read, from a cache or not
	OutputTokens int64
	CacheRead    int64 // of InputTokens, what came out of the provider's cache
	CacheWritten int64 // of InputTokens, what was put into it
	NoUsage      bool  // nobody said what the answer used; it counts as nothing
}

// parts is the turn's content as it is stored, once its calls have the ids that the thread knows them by: renamed holds them by the id that
// the model gave, of which it may have given one twice. A call's place is kept only where something stands behind it.
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

// stepStarted is the data of a step.started event, which is committed with the model's answer. Usage is null if the provider did not
// say what the answer used, and absent if the model counts no tokens.
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

// Words of live text and of the events that end it.
const (
	TextPart      = "text"
	ReasoningPart = "reasoning"
)

// PartID names a step's text, or its reasoning, the same while it is spoken and once it is committed. It is unique in its thread.
func PartID(run, kind string, step int) string { return run + ":" + kind + "-" + strconv.Itoa(step) }

// CutResult is a result's text of at most so many bytes, and says if it was longer. It is not cut within a character.
func CutResult(text string, most int) string {
	if most <= 0 || len(text) <= most {
		return text
	}
	note := "\n[cut off: the result has " + strconv.Itoa(len(text)) + " bytes, and only its beginning is kept]"
	return clipBytes(text, max(0, most-len(note))) + note
}
