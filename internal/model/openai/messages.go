package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// message is one of a request. Content is a text, a list of pieces, or nothing at all.
type message map[string]any

// messages renders the conversation. What users, the runtime and the images of results say in a row
// is one user's message, since the templates of many models refuse two.
func (c *call) messages() []message {
	w := &writer{call: c}
	if c.prompt.Instructions != "" {
		w.out = append(w.out, message{"role": "system", "content": c.prompt.Instructions})
	}
	for _, m := range c.prompt.Messages {
		switch m.Role {
		case core.RoleUser:
			w.user(m)
		case core.RoleSystem:
			w.text("[A notice of the runtime, not of the user]\n" + m.Text())
		case core.RoleAssistant:
			w.assistant(m)
		case core.RoleTool:
			w.result(m)
		}
	}
	w.flush()
	return w.out
}

// writer gathers what the next user's message is made of. Files have numbers for names.
type writer struct {
	*call
	out    []message
	pieces []map[string]any
	behind []map[string]any // images of results, which may come only when all results are there
	files  int
}

// flush writes the results' images and what the users said.
func (w *writer) flush() {
	pieces := append(w.behind, w.pieces...)
	w.behind, w.pieces = nil, nil
	if len(pieces) == 0 {
		return
	}
	var texts []string
	for _, p := range pieces {
		if text, ok := p["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	if len(texts) == len(pieces) { // some endpoints take lists only where they must
		w.out = append(w.out, message{"role": "user", "content": strings.Join(texts, "\n\n")})
		return
	}
	w.out = append(w.out, message{"role": "user", "content": pieces})
}

func (w *writer) text(text string) {
	if text != "" {
		w.pieces = append(w.pieces, textPiece(text))
	}
}

func textPiece(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func (w *writer) user(m core.Message) {
	for _, p := range m.Parts {
		switch p.Type {
		case core.PartText:
			w.text(p.Text)
		case core.PartImage, core.PartDocument:
			w.pieces = append(w.pieces, w.file(p)...)
		}
	}
}

// images are the types that endpoints show to a model.
var images = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// file is an image or a document. What no endpoint takes becomes a note, and a document that is a
// text becomes that text.
func (w *writer) file(p core.Part) []map[string]any {
	w.files++
	name := fmt.Sprintf("document-%d", w.files)
	media, _, _ := strings.Cut(strings.ToLower(p.Media), ";")
	url := func() string { return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(p.Data) }
	switch media = strings.TrimSpace(media); {
	case len(p.Data) == 0:
		return []map[string]any{textPiece("[" + named(name, p) + " is empty]")}
	case images[media]:
		return []map[string]any{{"type": "image_url", "image_url": map[string]any{"url": url()}}}
	case media == "application/pdf":
		return []map[string]any{textPiece("[" + named(name, p) + " is attached]"),
			{"type": "file", "file": map[string]any{"filename": name + ".pdf", "file_data": url()}}}
	case (strings.HasPrefix(media, "text/") || media == "application/json") && utf8.Valid(p.Data):
		return []map[string]any{textPiece(fmt.Sprintf("[%s]\n%s\n[end of %s]", named(name, p), p.Data, name))}
	}
	return []map[string]any{textPiece("[" + named(name, p) + " is of a type that this model cannot be shown]")}
}

// named is a file's name, and in quotes the one that its sender gave it: that is anybody's word.
func named(name string, p core.Part) string {
	if p.Name == "" {
		return name
	}
	const most = 120
	if runes := []rune(p.Name); len(runes) > most {
		p.Name = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%s, which its sender named %q,", name, p.Name)
}

// assistant renders a turn. One without text and calls is left out: nothing can be said of it.
func (w *writer) assistant(m core.Message) {
	text := m.Text()
	if text == "" && len(m.Calls) == 0 {
		return
	}
	w.flush()
	out := message{"role": "assistant", "content": text}
	if text == "" {
		out["content"] = nil
	}
	var calls []any
	for _, c := range m.Calls {
		calls = append(calls, map[string]any{"id": callID(c.ID), "type": "function",
			"function": map[string]any{"name": w.names.there[c.Name], "arguments": string(objectOf(c.Arguments))}})
	}
	if calls != nil {
		out["tool_calls"] = calls
		w.reasoning(out, m.Parts)
	}
	w.out = append(w.out, out)
}

// reasoning gives back what the endpoint said before it called tools, in the member it said it in.
// Behind a turn that ended there is nobody to read it any more.
func (w *writer) reasoning(out message, parts []core.Part) {
	if w.noReasoning.Load() {
		return
	}
	for _, p := range parts {
		if member := string(p.Sealed); p.Type == core.PartReasoning && p.Provider == Provider && reasoningMembers[member] {
			before, _ := out[member].(string)
			out[member] = before + p.Text
		}
	}
}

// reasoningMembers are the names that endpoints have for it.
var reasoningMembers = map[string]bool{"reasoning_content": true, "reasoning": true}

// objectOf is a call's arguments, every digit of them. What is no object is put into one: many
// endpoints read it before the model does, and refuse the whole conversation for it.
func objectOf(arguments json.RawMessage) json.RawMessage {
	if trimmed := strings.TrimLeft(string(arguments), " \t\r\n"); strings.HasPrefix(trimmed, "{") {
		return arguments
	}
	if core.IsNull(arguments) {
		return json.RawMessage("{}")
	}
	return core.Encode(map[string]json.RawMessage{"not_an_object": arguments})
}

// failedMark begins the result of a call that failed: the wire has no other place to say it.
const failedMark = "Error: "

func (w *writer) result(m core.Message) {
	text, files := "", 0
	for _, p := range m.Parts {
		switch p.Type {
		case core.PartText:
			text += p.Text
		case core.PartImage, core.PartDocument:
			if files++; files == 1 {
				w.behind = append(w.behind, textPiece("[Files of the result of the call "+callID(m.CallID)+"]"))
			}
			w.behind = append(w.behind, w.file(p)...)
		}
	}
	switch {
	case files > 0:
		text = strings.TrimPrefix(text+fmt.Sprintf("\n[Files of this result follow: %d]", files), "\n")
	case text == "":
		text = "(no text)"
	}
	if m.Error {
		text = failedMark + text
	}
	w.out = append(w.out, message{"role": "tool", "tool_call_id": callID(m.CallID), "content": text})
}
