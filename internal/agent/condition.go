package agent

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Condition compares one argument of a call. Argument is a member of the arguments, or a path of members joined by dots. Above and
// Below hold for numbers on that side of the bound, both together for those between; Equals for the same number,
// text or truth value.
type Condition struct {
	Argument string          `json:"argument"`
	Above    json.Number     `json:"above,omitempty"`
	Below    json.Number     `json:"below,omitempty"`
	Equals   json.RawMessage `json:"equals,omitempty"`
}

// arguments are a call's arguments with their numbers as written; nil if they are no object.
type arguments map[string]any

func readArguments(raw json.RawMessage) arguments {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var args arguments
	if dec.Decode(&args) != nil {
		return nil
	}
	return args
}

// at follows a path of members joined by dots.
func (a arguments) at(path string) (any, bool) {
	var here any = map[string]any(a)
	for member := range strings.SplitSeq(path, ".") {
		object, ok := here.(map[string]any)
		if !ok {
			return nil, false
		}
		if here, ok = object[member]; !ok {
			return nil, false
		}
	}
	return here, true
}

// holds says whether the condition holds; known is false if the argument is missing or of another type than the condition is about.
func (c *Condition) holds(args arguments) (holds, known bool) {
	got, ok := args.at(c.Argument)
	if !ok {
		return false, false
	}
	if c.Equals != nil {
		return equalValues(got, decodeValue(c.Equals))
	}
	number, ok := rational(got)
	if !ok {
		return false, false
	}
	return within(number, c.Above, c.Below)
}

// within says whether number is strictly inside the bounds that are set; known is false if a bound is no number.
func within(number *big.Rat, above, below json.Number) (holds, known bool) {
	over, okAbove := beyond(number, above, 1)
	under, okBelow := beyond(number, below, -1)
	return over && under, okAbove && okBelow
}

func beyond(number *big.Rat, bound json.Number, side int) (holds, known bool) {
	if bound == "" {
		return true, true
	}
	limit, ok := rational(bound)
	if !ok {
		return false, false
	}
	return number.Cmp(limit) == side, true
}

func (c *Condition) equal(other *Condition) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.Argument == other.Argument && c.Above == other.Above && c.Below == other.Below && bytes.Equal(c.Equals, other.Equals)
}

// equalValues compares scalars, numbers by value; known is false for two of different types.
func equalValues(got, want any) (equal, known bool) {
	switch want := want.(type) {
	case json.Number:
		a, okA := rational(got)
		b, okB := rational(want)
		if !okA || !okB {
			return false, false
		}
		return a.Cmp(b) == 0, true
	case string:
		text, ok := got.(string)
		return text == want, ok
	case bool:
		is, ok := got.(bool)
		return is == want, ok
	}
	return false, false
}

// rational is the exact value of a JSON number; false for anything else, and for exponents no one means.
func rational(v any) (*big.Rat, bool) {
	number, ok := v.(json.Number)
	if !ok || len(number) > 400 {
		return nil, false
	}
	if i := strings.IndexAny(string(number), "eE"); i >= 0 && len(strings.TrimLeft(string(number[i+1:]), "+-0")) > 3 {
		return nil, false // 1e999999999 would take all memory to compare
	}
	return new(big.Rat).SetString(string(number))
}

func decodeValue(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// Answer is one recorded answer of a tool: for the arguments that have the values of When, Result or, of a call that failed, Error.
type Answer struct {
	When   map[string]json.RawMessage `json:"when,omitempty"` // by member, or path of members joined by dots
	Result json.RawMessage            `json:"result,omitempty"`
	Error  string                     `json:"error,omitempty"`
}

// Matches says whether the answer is the one for these arguments. Numbers are compared by value.
func (a Answer) Matches(raw json.RawMessage) bool {
	args := readArguments(raw)
	for path, want := range a.When {
		got, ok := args.at(path)
		if !ok || !sameValue(got, want) {
			return false
		}
	}
	return true
}

func sameValue(got any, want json.RawMessage) bool {
	if equal, known := equalValues(got, decodeValue(want)); known {
		return equal
	}
	canonical, err := core.Canonical(want)
	return err == nil && bytes.Equal(core.Encode(got), canonical)
}

// Text is the result as the model sees it: text as it is, anything else as JSON.
func (a Answer) Text() string {
	var text string
	if json.Unmarshal(a.Result, &text) == nil {
		return text
	}
	return string(a.Result)
}
