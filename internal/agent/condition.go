package agent

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Condition tests one argument of a call. Argument is a path of members joined by dots; a number in
// it is an index into a list. An empty path means the call's only text argument. Load accepts
// exactly one test per condition; the four bounds count as one.
//
// The result is unknown if the argument is missing, has another type, or the stored expression
// doesn't compile, or if an empty path finds no text argument or several. An unknown result counts
// as a match for rules that block, deny or ask, and as no match for rules that allow.
type Condition struct {
	Argument string `json:"argument"`

	// Numbers, compared exactly. A number must be inside all bounds that are set.
	Above   json.Number `json:"above,omitempty"`
	Below   json.Number `json:"below,omitempty"`
	AtLeast json.Number `json:"at_least,omitempty"`
	AtMost  json.Number `json:"at_most,omitempty"`

	// The same text, number (by value) or truth value; or not; or one of several.
	Equals    json.RawMessage   `json:"equals,omitempty"`
	NotEquals json.RawMessage   `json:"not_equals,omitempty"`
	In        []json.RawMessage `json:"in,omitempty"`

	// Text. In a glob, * matches any text; a regular expression may match anywhere in it.
	Glob     string `json:"glob,omitempty"`
	NotGlob  string `json:"not_glob,omitempty"`
	Regex    string `json:"regex,omitempty"`
	NotRegex string `json:"not_regex,omitempty"`

	// Exists says whether the argument has to be there at all. An argument that is null is
	// there.
	Exists *bool `json:"exists,omitempty"`
}

// Conditions must all hold. In JSON a single condition may be written without a list, the form that
// older versions stored.
type Conditions []Condition

// MarshalJSON writes one condition as an object and several as a list.
func (cs Conditions) MarshalJSON() ([]byte, error) {
	if len(cs) == 1 {
		return core.Encode(cs[0]), nil
	}
	return core.Encode([]Condition(cs)), nil
}

// UnmarshalJSON reads an object or a list, and refuses members it does not know.
func (cs *Conditions) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return dec.Decode((*[]Condition)(cs))
	}
	var one Condition
	if err := dec.Decode(&one); err != nil {
		return err
	}
	*cs = Conditions{one}
	return nil
}

// has says whether one of the conditions is exactly c.
func (cs Conditions) has(c Condition) bool {
	for _, other := range cs {
		if bytes.Equal(core.Encode(other), core.Encode(c)) {
			return true
		}
	}
	return false
}

// includes reports whether arguments that meet cs are sure to meet other as well: every condition
// of other is also in cs.
func (cs Conditions) includes(other Conditions) bool {
	for _, c := range other {
		if !cs.has(c) {
			return false
		}
	}
	return true
}

// test is one question about an argument that is there.
type test func(got any) truth

// ready compiles a condition into a question about a call's arguments.
func (c Condition) ready() func(arguments) truth {
	tests := c.tests()
	return func(args arguments) truth {
		if args == nil {
			return untold
		}
		got, there := c.argument(args)
		answer := Yes
		if c.Exists != nil {
			answer = truthOf(there == *c.Exists)
		}
		if len(tests) == 0 && c.Exists == nil || len(tests) > 0 && !there {
			return min(answer, untold)
		}
		for _, ask := range tests {
			answer = min(answer, ask(got))
		}
		return answer
	}
}

func (c Condition) argument(args arguments) (any, bool) {
	if c.Argument == "" {
		return args.onlyText()
	}
	return args.at(c.Argument)
}

func (c Condition) tests() []test {
	var tests []test
	add := func(set bool, t test) {
		if set {
			tests = append(tests, t)
		}
	}
	add(c.Above != "", compared(c.Above, func(sign int) bool { return sign > 0 }))
	add(c.Below != "", compared(c.Below, func(sign int) bool { return sign < 0 }))
	add(c.AtLeast != "", compared(c.AtLeast, func(sign int) bool { return sign >= 0 }))
	add(c.AtMost != "", compared(c.AtMost, func(sign int) bool { return sign <= 0 }))
	add(c.Equals != nil, oneOf(c.Equals))
	add(c.NotEquals != nil, negated(oneOf(c.NotEquals)))
	add(c.In != nil, oneOf(c.In...))
	add(c.Glob != "", fits(c.Glob))
	add(c.NotGlob != "", negated(fits(c.NotGlob)))
	add(c.Regex != "", matched(c.Regex))
	add(c.NotRegex != "", negated(matched(c.NotRegex)))
	return tests
}

func negated(t test) test { return func(got any) truth { return t(got).not() } }

func compared(bound json.Number, holds func(sign int) bool) test {
	limit, isNumber := Rational(bound)
	return func(got any) truth {
		number, ok := Rational(got)
		if !ok || !isNumber {
			return untold
		}
		return truthOf(holds(number.Cmp(limit)))
	}
}

// oneOf holds for an argument that equals one of the values. It is untold for an argument whose
// type differs from that of every value.
func oneOf(raw ...json.RawMessage) test {
	values := make([]any, len(raw))
	for i, r := range raw {
		values[i] = DecodeValue(r)
	}
	return func(got any) truth {
		answer := untold
		for _, v := range values {
			switch EqualValues(got, v) {
			case Yes:
				return Yes
			case no:
				answer = no
			}
		}
		return answer
	}
}

func fits(glob string) test {
	return func(got any) truth {
		text, ok := got.(string)
		if !ok {
			return untold
		}
		return truthOf(matchGlob(glob, text))
	}
}

func matched(expression string) test {
	re, err := regexp.Compile(expression)
	return func(got any) truth {
		text, ok := got.(string)
		if !ok || err != nil {
			return untold
		}
		return truthOf(re.MatchString(text))
	}
}

// TextSlot returns the field that holds the pattern of a text operator, or nil for other operators.
func (c *Condition) TextSlot(operator string) *string {
	return map[string]*string{"~": &c.Glob, "!~": &c.NotGlob, "=~": &c.Regex, "!=~": &c.NotRegex}[operator]
}

// NumberSlot is the bound that an operator such as ">" sets; nil for any other word.
func (c *Condition) NumberSlot(operator string) *json.Number {
	return map[string]*json.Number{">": &c.Above, "<": &c.Below, ">=": &c.AtLeast, "<=": &c.AtMost}[operator]
}
