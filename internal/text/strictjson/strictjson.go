// Package strictjson reads the JSON that outsiders send: what is ambiguous or not understood is
// refused, never guessed. It is used for the bodies of the HTTP API and the messages of the intake
// queue alike, so that the same text is taken by both or by neither. It knows no HTTP, does not
// bound how long a text may be, and does not judge what the values mean.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// Codes of what is refused. They are a contract with callers: none is renamed.
const (
	CodeMalformed    = "malformed_body"
	CodeUnknownField = "unknown_field"
)

// Error is why a text is refused, in words that may be shown to whoever sent it. Every error of
// this package is one.
type Error struct {
	Code   string
	Detail string
}

func (e *Error) Error() string { return e.Code + ": " + e.Detail }

func malformed(format string, args ...any) *Error {
	return &Error{Code: CodeMalformed, Detail: fmt.Sprintf(format, args...)}
}

// Clipped is a caller's text, short enough to be shown in an answer.
func Clipped(text string) string { return clip.Bytes(text, 80, "...") }

// MaxDepth is how deep lists and objects may be nested: as deep as anything that is journaled.
const MaxDepth = core.MaxDepth

// Check demands one JSON object in UTF-8, not nested deeper than [MaxDepth], in which no object,
// however deep, has a member twice: two readers of such a body could see two different things.
func Check(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed("the body is not UTF-8")
	}
	if core.TooDeep(raw) {
		return malformed("lists and objects stand in one another more than %d deep", MaxDepth)
	}
	if !json.Valid(raw) {
		return malformed("the body is not one JSON value")
	}
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); trimmed[0] != '{' {
		return malformed("the body must be an object")
	}
	return checkMembers(json.NewDecoder(bytes.NewReader(raw)))
}

// level is an open object, or, with no members, an open list.
type level struct {
	members map[string]bool
	value   bool // the next token is a member's value
}

func checkMembers(dec *json.Decoder) error {
	dec.UseNumber()
	var open []level
	for {
		token, err := dec.Token()
		if err != nil {
			return nil // the end: the text is valid
		}
		if name, ok := token.(string); ok && len(open) > 0 {
			if top := &open[len(open)-1]; top.members != nil && !top.value {
				if top.members[name] {
					return malformed("the member %q is there twice", Clipped(name))
				}
				top.members[name], top.value = true, true
				continue
			}
		}
		open = follow(open, token)
	}
}

// follow notes that a value began or ended.
func follow(open []level, token json.Token) []level {
	switch token {
	case json.Delim('{'):
		return append(open, level{members: map[string]bool{}})
	case json.Delim('['):
		return append(open, level{})
	case json.Delim('}'), json.Delim(']'):
		open = open[:len(open)-1]
	}
	if len(open) > 0 {
		open[len(open)-1].value = false
	}
	return open
}

// Decode reads an object into the struct behind to. Members are matched exactly, case included;
// those of an embedded struct count as its own.
func Decode(raw json.RawMessage, to any) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return malformed("an object is expected")
	}
	known := membersOf(reflect.TypeOf(to).Elem())
	for _, name := range slices.Sorted(maps.Keys(members)) { // the same body, the same answer
		if !known[name] {
			return &Error{Code: CodeUnknownField, Detail: fmt.Sprintf("the field %q is not known here", Clipped(name))}
		}
	}
	var mistyped *json.UnmarshalTypeError
	err := json.Unmarshal(raw, to)
	if errors.As(err, &mistyped) {
		return malformed("the field %q must not be a %s", Clipped(mistyped.Field), Clipped(mistyped.Value))
	}
	if err != nil {
		return malformed("the body cannot be read")
	}
	return nil
}

func membersOf(t reflect.Type) map[string]bool {
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(t) {
		if !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			known[name] = true
		}
	}
	return known
}
