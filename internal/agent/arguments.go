package agent

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// truth is the answer to a question about a call. It is untold if the call doesn't allow an answer:
// an argument is missing or has another type, or a stored expression doesn't compile. Untold lies
// between no and yes, so the least of several answers is the weakest.
type truth int8

const (
	no truth = iota - 1
	untold
	Yes
)

func truthOf(is bool) truth {
	if is {
		return Yes
	}
	return no
}

// not swaps yes and no; untold stays untold.
func (t truth) not() truth { return -t }

// arguments are a call's arguments with numbers as written; nil if they are not a JSON object.
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

// at follows a path of steps joined by dots: members of objects, and numbers, from 0, of places in
// lists.
func (a arguments) at(path string) (any, bool) {
	var here any = map[string]any(a)
	for step := range strings.SplitSeq(path, ".") {
		next, ok := into(here, step)
		if !ok {
			return nil, false
		}
		here = next
	}
	return here, true
}

func into(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[step]
		return inner, ok
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != step {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// onlyText is the one argument that is text; false if there is none or more than one.
func (a arguments) onlyText() (any, bool) {
	var found any
	for _, v := range a {
		if _, ok := v.(string); !ok {
			continue
		}
		if found != nil {
			return nil, false
		}
		found = v
	}
	return found, found != nil
}

// EqualValues compares two scalars, numbers by value. The result is unknown if their types differ.
func EqualValues(got, want any) truth {
	switch want := want.(type) {
	case json.Number:
		a, okA := Rational(got)
		b, okB := Rational(want)
		if !okA || !okB {
			return untold
		}
		return truthOf(a.Cmp(b) == 0)
	case string:
		if text, ok := got.(string); ok {
			return truthOf(text == want)
		}
	case bool:
		if is, ok := got.(bool); ok {
			return truthOf(is == want)
		}
	}
	return untold
}

// Rational is the exact value of a JSON number; false for anything else, and for exponents no one
// means.
func Rational(v any) (*big.Rat, bool) {
	number, ok := v.(json.Number)
	if !ok || len(number) > 400 {
		return nil, false
	}
	if i := strings.IndexAny(string(number), "eE"); i >= 0 && len(strings.TrimLeft(string(number[i+1:]), "+-0")) > 3 {
		return nil, false // 1e999999999 would take all memory to compare
	}
	return new(big.Rat).SetString(string(number))
}

// DecodeValue is a JSON value with its numbers as they are written; nil if it is none.
func DecodeValue(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}
