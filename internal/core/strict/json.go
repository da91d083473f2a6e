// Package strict reads the JSON that models, tools, callers and hooks send. It refuses what two
// readers could understand differently, so that a rule, an approver and a service behind a tool all
// see the same value.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
)

// Check accepts one JSON value that every reader reads alike: UTF-8, nested at most [depth.Max]
// deep, without a \u escape that names half a character, and without an object that has a member
// twice. The error is a sentence without a subject, fit to follow "the arguments: ".
func Check(raw []byte) error {
	if err := checkText(raw); err != nil {
		return err
	}
	_, err := (&reader{same: exactly}).read(raw)
	return err
}

func checkText(raw []byte) error {
	switch {
	case !utf8.Valid(raw):
		return fmt.Errorf("the text is not UTF-8")
	case depth.Exceeded(raw):
		return fmt.Errorf("lists and objects are nested more than %d deep", depth.Max)
	case halfCharacter(raw):
		return fmt.Errorf(`a \u escape names half a character (a surrogate without its other half); write the whole character`)
	}
	return nil
}

// halfCharacter finds a \u escape of a surrogate that is not one of a pair. Parsers disagree on
// what it means, so an approver could see other text than the tool gets.
func halfCharacter(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		high := escapedUnit(raw[i:])
		switch {
		case high < 0xd800 || high > 0xdfff:
			i++ // the escaped character
		case high >= 0xdc00:
			return true
		default:
			if low := escapedUnit(raw[min(i+6, len(raw)):]); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		}
	}
	return false
}

// escapedUnit is the UTF-16 unit that text begins with as an escape, -1 if it begins with none.
func escapedUnit(text []byte) int64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int64(unit)
}

// reader decodes JSON and refuses objects in which two names are the same.
type reader struct {
	same    func(string) string // two names with one result are the same
	most    int                 // members; 0: no bound
	members int
}

func exactly(name string) string { return name }

func (r *reader) read(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := r.value(dec)
	// the token reader is lenient about commas, and does not look behind the value
	if err == nil && !json.Valid(raw) {
		err = errNotJSON
	}
	return v, err
}

// errNotJSON is of text that [json.Valid] refuses, and of no other.
var errNotJSON = errors.New("they are not valid JSON")

// value reads one value. Its depth is bounded: see [depth.Exceeded].
func (r *reader) value(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, errNotJSON
	}
	switch token {
	case json.Delim('{'):
		return r.object(dec)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			item, err := r.value(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, closed(dec)
	}
	return token, nil
}

func (r *reader) object(dec *json.Decoder) (any, error) {
	object, seen := map[string]any{}, map[string]string{}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errNotJSON
		}
		if r.members++; r.most > 0 && r.members > r.most {
			return nil, fmt.Errorf("they have more than %d members", r.most)
		}
		key := r.same(name)
		if other, there := seen[key]; there {
			return nil, sameMember(other, name)
		}
		seen[key] = name
		if object[name], err = r.value(dec); err != nil {
			return nil, err
		}
	}
	return object, closed(dec)
}

func closed(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

func sameMember(one, other string) error {
	if one == other {
		return fmt.Errorf("%q is given twice; give each member once", core.Clip(one, 80))
	}
	return fmt.Errorf("%q and %q differ only by case, so that a service may take one for the other; give each member once", core.Clip(one, 80), core.Clip(other, 80))
}

// FoldCase returns one text for all names that some reader takes for the same because it ignores
// case: the simple folding of Unicode, by which encoding/json matches members (ſ is s, the Kelvin
// sign is k), the mappings to upper and lower case that others go by (ı and İ are i), and ß as ss.
func FoldCase(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || r >= 'A' && r <= 'Z' }) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if r == 'ß' || r == 'ẞ' {
			b.WriteString("ss")
			continue
		}
		b.WriteRune(foldRune(r))
	}
	return b.String()
}

// foldRune returns one rune for all that fold to one another.
func foldRune(r rune) rune {
	r = unicode.ToLower(unicode.ToUpper(r))
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
