package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Values are the members of a JSON object from outside, such as the body of a webhook. Conditions
// and templates read them by path, as they read the arguments of a call.
type Values struct{ members arguments }

// ReadValues reads an object that is known to be strict JSON.
func ReadValues(raw json.RawMessage) (Values, error) {
	members := readArguments(raw)
	if members == nil {
		return Values{}, fmt.Errorf("agent: not a JSON object")
	}
	return Values{members}, nil
}

// TextValues are values that are all text.
func TextValues(texts map[string]string) Values {
	members := arguments{}
	for name, text := range texts {
		members[name] = text
	}
	return Values{members}
}

// At is the value at a path of members and places in lists, joined by dots.
func (v Values) At(path string) (any, bool) { return v.members.at(path) }

// Text is the value at a path as text: a text itself, a number or truth value as in JSON. It is
// false for what is missing, null, a list or an object.
func (v Values) Text(path string) (string, bool) {
	switch value, _ := v.At(path); value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return string(core.Encode(value)), true
	}
	return "", false
}

// Unmet returns the first condition that is not sure to hold; ok is true if all hold. A value that
// is missing or has another type meets no condition but exists: false.
func (v Values) Unmet(cs Conditions) (unmet Condition, ok bool) {
	for _, c := range cs {
		if c.ready()(v.members) != Yes {
			return c, false
		}
	}
	return Condition{}, true
}

// Fill replaces the placeholders of a template: lists and objects as JSON, null with nothing. It
// returns the first path that is missing.
func (v Values) Fill(t placeholder.Template) (text, missing string) {
	var b strings.Builder
	for _, p := range t {
		if p.Argument == "" {
			b.WriteString(p.Text)
			continue
		}
		value, there := v.At(p.Argument)
		if !there {
			return "", p.Argument
		}
		if plain, is := v.Text(p.Argument); is {
			b.WriteString(plain)
		} else if value != nil {
			b.Write(core.Encode(value))
		}
	}
	return b.String(), ""
}
