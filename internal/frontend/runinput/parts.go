// Package runinput reads the input of a run or a message as callers send it: a text, or a list of
// texts, images and documents.
package runinput

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Media types that an input may have: those that the providers of models take.
var (
	ImageTypes    = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	DocumentTypes = []string{"application/pdf", "text/plain", "text/csv", "text/html", "text/markdown",
		"application/msword", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.ms-excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}
)

// MaxName is how many bytes the name of a document may have.
const MaxName = 200

// Read reads an input, a text or a list of parts, and returns the parts of a message as JSON. A
// blank text is refused as a mistake; a caller who wants one sends it as a part. An error says what
// is wrong with the input, in words for the caller.
func Read(input json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(input) {
		return nil, errors.New("input is missing; send a text or a list of parts")
	}
	var text string
	if json.Unmarshal(input, &text) == nil {
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("input has no text; send some")
		}
		return core.Encode(core.TextParts(text)), nil
	}
	parts, err := readParts(input)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, errors.New("input has no parts; send at least one")
	}
	return core.Encode(parts), nil
}

func readParts(input json.RawMessage) ([]core.Part, error) {
	var raw []json.RawMessage
	if json.Unmarshal(input, &raw) != nil {
		return nil, errors.New("input must be a text or a list of parts")
	}
	parts := make([]core.Part, len(raw))
	for i, r := range raw {
		part, wrong := readPart(r)
		if wrong != "" {
			return nil, fmt.Errorf("input[%d] %s", i, wrong)
		}
		parts[i] = part
	}
	return parts, nil
}

// partMembers are the members of each type of part, and whether they must be there.
var partMembers = map[string]map[string]bool{
	core.PartText:     {"type": true, "text": true},
	core.PartImage:    {"type": true, "media_type": true, "data": true},
	core.PartDocument: {"type": true, "media_type": true, "data": true, "name": false},
}

// readPart matches the members exactly, case included, as bodies are read everywhere. wrong is what
// is, for behind the part's place.
func readPart(raw json.RawMessage) (part core.Part, wrong string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return part, `must be a part, such as {"type":"text","text":"..."}`
	}
	values := map[string]string{}
	for name, raw := range members {
		var value *string
		if json.Unmarshal(raw, &value) == nil && value != nil {
			values[name] = *value
		}
	}
	known, ok := partMembers[values["type"]]
	if !ok {
		return part, `must be a part of type "text", "image" or "document"`
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, there := values[name]; !there && (known[name] || members[name] != nil) {
			return part, "needs " + name + ", a text, as a part of type " + values["type"]
		}
	}
	for name := range members {
		if _, is := known[name]; !is {
			return part, "has a member that parts of type " + values["type"] + " do not have; they have " +
				strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		}
	}
	if values["type"] == core.PartText {
		return core.Part{Type: core.PartText, Text: values["text"]}, ""
	}
	return readMedia(values)
}

// readMedia reads an image or a document. What is in it is not looked at: the provider of the model
// does that.
func readMedia(values map[string]string) (part core.Part, wrong string) {
	part = core.Part{Type: values["type"], Media: values["media_type"], Name: values["name"]}
	kinds := ImageTypes
	if part.Type == core.PartDocument {
		kinds = DocumentTypes
	}
	if !slices.Contains(kinds, part.Media) {
		return part, "has a media_type that is none of an " + part.Type + ": " + strings.Join(kinds, ", ")
	}
	if len(part.Name) > MaxName || !utf8.ValidString(part.Name) || strings.ContainsFunc(part.Name, unicode.IsControl) {
		return part, "has a name that is longer than 200 bytes or contains control characters"
	}
	data, err := base64.StdEncoding.Strict().DecodeString(values["data"])
	switch {
	case err != nil, strings.ContainsAny(values["data"], "\r\n"): // which Go would overlook
		return part, "has data that is not standard base64, padded and on one line"
	case len(data) == 0:
		return part, "has no data"
	}
	part.Data = data
	return part, ""
}
