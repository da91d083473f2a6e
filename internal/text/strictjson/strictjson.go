// Package strictjson parses JSON from outside: it rejects what is ambiguous or unknown instead of
// guessing. The HTTP API and the intake queue both use it, so that they accept the same texts. It
// knows nothing of HTTP, does not limit the length of a text, and does not validate values.
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

	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// Error codes. They are part of the API and must not be renamed.
const (
	CodeMalformed    = "malformed_body"
	CodeUnknownField = "unknown_field"
)

// Error says why a text is rejected, in words that may be shown to its sender. Every error of this
// package is an Error.
type Error struct {
	Code   string
	Detail string
}

func (e *Error) Error() string { return e.Code + ": " + e.Detail }

func malformed(format string, args ...any) *Error {
	return &Error{Code: CodeMalformed, Detail: fmt.Sprintf(format, args...)}
}

// Clipped returns a caller's text, short enough to be shown in a response.
func Clipped(text string) string { return clip.Bytes(text, 80, "...") }

// MaxDepth limits the nesting of lists and objects, to the same depth as everything that is
// journaled.
const MaxDepth = depth.Max

// Check requires one JSON object in UTF-8, not nested deeper than [MaxDepth], without duplicate
// members at any level: two parsers could interpret duplicates differently.
func Check(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed("the body is not UTF-8")
	}
	if depth.Exceeded(raw) {
		return malformed("lists and objects are nested more than %d levels deep", MaxDepth)
	}
	if !json.Valid(raw) {
		return malformed("the body is not one JSON value")
	}
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); trimmed[0] != '{' {
		return malformed("the body must be an object")
	}
	return checkMembers(json.NewDecoder(bytes.NewReader(raw)))
}

// level is an open object or, with nil members, an open list.
type level struct {
	members map[string]bool
	value   bool // the next token is the value of a member
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
					return malformed("the member %q occurs twice", Clipped(name))
				}
				top.members[name], top.value = true, true
				continue
			}
		}
		open = follow(open, token)
	}
}

// follow records that a value began or ended.
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

// Decode decodes an object into the struct behind to. Members must match exactly, including case,
// also in lists of structs; those of an embedded struct count as its own.
func Decode(raw json.RawMessage, to any) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return malformed("an object is expected")
	}
	if err := checkKnown("", members, reflect.TypeOf(to).Elem()); err != nil {
		return err
	}
	var mistyped *json.UnmarshalTypeError
	err := json.Unmarshal(raw, to)
	if errors.As(err, &mistyped) {
		return malformed("the field %q must not be a %s", Clipped(mistyped.Field), Clipped(mistyped.Value))
	}
	if err != nil {
		return malformed("the body cannot be decoded")
	}
	return nil
}

// Exactly decodes the members of an object that have one of these names, case included, and leaves
// out all others: encoding/json takes "Approved" for "approved", so that what a no has beside it
// could make a yes of it.
func Exactly(raw []byte, members map[string]any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for name, to := range members {
		if value, is := all[name]; is {
			if err := json.Unmarshal(value, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkKnown rejects members that the struct does not have. within is the place of the object in
// the body, with a dot behind it.
func checkKnown(within string, members map[string]json.RawMessage, t reflect.Type) error {
	known := membersOf(t)
	// sorted, so that equal bodies get equal errors
	for _, name := range slices.Sorted(maps.Keys(members)) {
		of, is := known[name]
		if !is {
			return &Error{Code: CodeUnknownField, Detail: fmt.Sprintf("the field %q is unknown", Clipped(within+name))}
		}
		var items []map[string]json.RawMessage
		if of.Kind() != reflect.Slice || of.Elem().Kind() != reflect.Struct || json.Unmarshal(members[name], &items) != nil {
			continue // a wrong type is reported when it is decoded
		}
		for i, item := range items {
			if err := checkKnown(fmt.Sprintf("%s%s[%d].", within, name, i), item, of.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

func membersOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			known[name] = field.Type
		}
	}
	return known
}
