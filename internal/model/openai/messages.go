package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/jsonappend"
)

// appendMessages appends the conversation as JSON, the members of each object sorted by name.
// Consecutive texts of users and of the runtime, and images of results, become one user message,
// because the templates of many models reject two in a row.
func (c *call) appendMessages(dst []byte) []byte {
	w := &writer{call: c, out: append(dst, '[')}
	if c.prompt.Instructions != "" {
		w.begin(`{"content":`)
		w.string(c.prompt.Instructions)
		w.raw(`,"role":"system"}`)
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
	return append(w.out, ']')
}

// writer appends messages and collects the pieces of the next user message. Files get numbers as
// names.
type writer struct {
	*call
	out    []byte
	begun  bool // out has a message
	pieces []piece
	behind []piece // images of results, which may follow only after all results
	files  int
}

// piece is a part of a user message's content: a text, an image, or a document if it has a name.
type piece struct {
	text        string
	media, name string
	data        []byte
}

// begin appends the beginning of a message.
func (w *writer) begin(text string) {
	if w.begun {
		w.raw(",")
	}
	w.begun = true
	w.raw(text)
}

// raw appends JSON.
func (w *writer) raw(text string) { w.out = append(w.out, text...) }

// string appends a text as JSON.
func (w *writer) string(text string) { w.out = jsonappend.Text(w.out, text) }

// flush writes the images of results and the messages of the users.
func (w *writer) flush() {
	pieces := append(w.behind, w.pieces...)
	w.behind, w.pieces = nil, nil
	if len(pieces) == 0 {
		return
	}
	w.begin(`{"content":`)
	if !slices.ContainsFunc(pieces, func(p piece) bool { return p.media != "" }) {
		// some endpoints accept lists only where they are necessary
		texts := make([]string, len(pieces))
		for i, p := range pieces {
			texts[i] = p.text
		}
		w.string(strings.Join(texts, "\n\n"))
	} else {
		w.out = jsonappend.List(w.out, pieces, appendPiece)
	}
	w.raw(`,"role":"user"}`)
}

func appendPiece(dst []byte, p piece) []byte {
	if p.media == "" {
		dst = jsonappend.Text(append(dst, `{"text":`...), p.text)
		return append(dst, `,"type":"text"}`...)
	}
	// neither a media type that endpoints accept nor base64 has a character to escape
	url := func(dst []byte) []byte {
		dst = append(append(append(dst, `"data:`...), p.media...), ";base64,"...)
		return append(base64.StdEncoding.AppendEncode(dst, p.data), '"')
	}
	if p.name == "" {
		return append(url(append(dst, `{"image_url":{"url":`...)), `},"type":"image_url"}`...)
	}
	dst = append(url(append(dst, `{"file":{"file_data":`...)), `,"filename":`...)
	return append(jsonappend.Text(dst, p.name), `},"type":"file"}`...)
}

func (w *writer) text(text string) {
	if text != "" {
		w.pieces = append(w.pieces, piece{text: text})
	}
}

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
func (w *writer) file(p core.Part) []piece {
	w.files++
	name := fmt.Sprintf("document-%d", w.files)
	media, _, _ := strings.Cut(strings.ToLower(p.Media), ";")
	switch media = strings.TrimSpace(media); {
	case len(p.Data) == 0:
		return []piece{{text: "[" + named(name, p) + " is empty]"}}
	case images[media]:
		return []piece{{media: media, data: p.Data}}
	case media == "application/pdf":
		return []piece{{text: "[" + named(name, p) + " is attached]"}, {media: media, name: name + ".pdf", data: p.Data}}
	case (strings.HasPrefix(media, "text/") || media == "application/json") && utf8.Valid(p.Data):
		return []piece{{text: fmt.Sprintf("[%s]\n%s\n[end of %s]", named(name, p), p.Data, name)}}
	}
	return []piece{{text: "[" + named(name, p) + " has a type that this model does not accept]"}}
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
	w.begin(`{"content":`)
	if text == "" {
		w.raw("null")
	} else {
		w.string(text)
	}
	if len(m.Calls) > 0 {
		w.reasoning(m.Parts)
	}
	w.raw(`,"role":"assistant"`)
	if len(m.Calls) > 0 {
		w.out = jsonappend.List(append(w.out, `,"tool_calls":`...), m.Calls, w.appendCall)
	}
	w.raw("}")
}

func (w *writer) appendCall(dst []byte, c core.ToolCall) []byte {
	dst = jsonappend.Text(append(dst, `{"function":{"arguments":`...), string(objectOf(c.Arguments)))
	dst = jsonappend.Text(append(dst, `,"name":`...), w.names.there[c.Name])
	dst = jsonappend.Text(append(dst, `},"id":`...), callID(c.ID))
	return append(dst, `,"type":"function"}`...)
}

// reasoning returns the reasoning of a turn with calls to the endpoint, in the member in which it
// came. After a turn that ended, no endpoint reads it.
func (w *writer) reasoning(parts []core.Part) {
	if w.noReasoning.Load() {
		return
	}
	for _, member := range reasoningMembers {
		text, came := "", false
		for _, p := range parts {
			if p.Type == core.PartReasoning && p.Provider == Provider && string(p.Sealed) == member {
				text, came = text+p.Text, true
			}
		}
		if came {
			w.raw(`,"` + member + `":`)
			w.string(text)
		}
	}
}

// reasoningMembers are the names of the member that endpoints use, sorted.
var reasoningMembers = []string{"reasoning", "reasoning_content"}

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
				w.behind = append(w.behind, piece{text: "[Files of the result of the call " + callID(m.CallID) + "]"})
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
	w.begin(`{"content":`)
	w.string(text)
	w.raw(`,"role":"tool","tool_call_id":`)
	w.string(callID(m.CallID))
	w.raw("}")
}
