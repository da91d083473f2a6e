package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// message is a message of a request. Its content is a text, a list of pieces, or absent.
type message map[string]any

// messages renders the conversation. Consecutive texts of users and of the runtime, and images of
// results, become one user message, because the templates of many models reject two in a row.
func (c *call) messages() []message {
	w := &writer{call: c}
	if c.prompt.Instructions != "" {
		w.out = append(w.out, message{"role": "system", "content": c.prompt.Instructions})
	}
	for _, m := range c.prompt.Messages {
		switch m.Role {
		case core.RoleUser, core.RoleContext:
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

// writer collects the pieces of the next user message. Files get numbers as names.
type writer struct {
	*call
	out    []message
	pieces []map[string]any
	behind []map[string]any // images of results, which may follow only after all results
	files  int
}

// flush writes the images of results and the messages of the users.
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
	if len(texts) == len(pieces) { // some endpoints accept lists only where they are necessary
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

// images are the image types that endpoints accept.
var images = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// file renders an image or a document. A type that no endpoint accepts becomes a note, and a text
// document becomes its text.
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
	return []map[string]any{textPiece("[" + named(name, p) + " has a type that this model does not accept]")}
}

// named is a file's name, followed in quotes by the name that its sender chose, which is untrusted.
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

// assistant renders a turn. A turn without text and calls is left out.
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

// reasoning returns the reasoning of a turn with calls to the endpoint, in the member in which it
// came. After a turn that ended, no endpoint reads it.
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

// reasoningMembers are the names of the member that endpoints use.
var reasoningMembers = map[string]bool{"reasoning_content": true, "reasoning": true}

// objectOf returns a call's arguments with every digit. Arguments that are not an object are
// wrapped in one, because many endpoints parse them and would reject the entire conversation.
func objectOf(arguments json.RawMessage) json.RawMessage {
	if trimmed := strings.TrimLeft(string(arguments), " \t\r\n"); strings.HasPrefix(trimmed, "{") {
		return arguments
	}
	if core.IsNull(arguments) {
		return json.RawMessage("{}")
	}
	return core.Encode(map[string]json.RawMessage{"not_an_object": arguments})
}

// failedMark marks the result of a failed call, for which the protocol has no other place.
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
