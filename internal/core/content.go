package core

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core/jsonappend"
)

// Clip cuts text to so many characters, and marks the cut.
func Clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// ClipBytes cuts text to at most so many bytes, not within a character.
func ClipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// The types of a [Part].
const (
	PartText = "text"
	// what the model thought; it goes back to the provider that wrote it, byte for byte
	PartReasoning = "reasoning"
	PartImage     = "image"
	PartDocument  = "document"
	// the place of a call among the other parts, where it is not behind them all
	PartCall = "call"
)

// Part is one piece of a message's content. What a field is for says the type; others are empty.
type Part struct {
	Type string `json:"type"`
	Text string `json:"text"` // of text and reasoning
	// of an image or a document: "image/png", "application/pdf"
	Media string `json:"media_type,omitempty"`
	Name  string `json:"name,omitempty"`    // of a document; untrusted
	Data  []byte `json:"data,omitempty"`    // of an image or a document
	Call  string `json:"call_id,omitempty"` // of a call's place

	// Provider names the provider that wrote a reasoning part. Sealed is the content it needs
	// back unchanged: a signature, or text that only it can decrypt. Other providers don't get
	// the part.
	Provider string `json:"provider,omitempty"`
	Sealed   []byte `json:"sealed,omitempty"`
}

// MarshalJSON leaves the text out where there is none to be. It writes the members itself, because
// most of what is stored and sent is text of parts.
func (p Part) MarshalJSON() ([]byte, error) {
	dst := make([]byte, 0, len(`{"type":"text","text":""}`)+len(p.Type)+len(p.Text)*9/8)
	dst = jsonappend.Text(append(dst, `{"type":`...), p.Type)
	text := func(name, value string) {
		dst = jsonappend.Text(append(append(append(dst, `,"`...), name...), `":`...), value)
	}
	given := func(name, value string) {
		if value != "" {
			text(name, value)
		}
	}
	if p.Text != "" || p.Type == PartText || p.Type == "" {
		text("text", p.Text)
	}
	given("media_type", p.Media)
	given("name", p.Name)
	given("data", base64.StdEncoding.EncodeToString(p.Data))
	given("call_id", p.Call)
	given("provider", p.Provider)
	given("sealed", base64.StdEncoding.EncodeToString(p.Sealed))
	return append(dst, '}'), nil
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

// Words of live text and of the events that end it.
const (
	TextPart      = "text"
	ReasoningPart = "reasoning"
)

// PartID names a step's text, or its reasoning, the same while it is spoken and once it is
// committed. It is unique in its thread.
func PartID(run, kind string, step int) string { return run + ":" + kind + "-" + strconv.Itoa(step) }

// CutResult is a result's text of at most so many bytes, and says if it was longer. It is not cut
// within a character.
func CutResult(text string, most int) string {
	if most <= 0 || len(text) <= most {
		return text
	}
	note := "\n[cut off: the result has " + strconv.Itoa(len(text)) + " bytes, and only its beginning is kept]"
	return ClipBytes(text, max(0, most-len(note))) + note
}
