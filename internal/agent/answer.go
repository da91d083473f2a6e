package agent

import (
	"bytes"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Answer is one recorded answer of a tool: for the arguments that have the values of When, Result
// or, of a call that failed, Error.
type Answer struct {
	// by member, or path of members joined by dots
	When   map[string]json.RawMessage `json:"when,omitempty"`
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
	if same := EqualValues(got, DecodeValue(want)); same != untold {
		return same == Yes
	}
	canonical, err := core.Canonical(want)
	return err == nil && bytes.Equal(core.Encode(got), canonical)
}
