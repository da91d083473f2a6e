package strict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Bounds of a call's arguments.
const (
	MaxArguments = 1 << 20 // bytes
	MaxMembers   = 10_000  // members of all objects
)

// Arguments returns the canonical form of a call's arguments: the one text that rules, schemas,
// approvers and services see. Empty input becomes an empty object. It refuses everything that two
// parsers could read differently: what [Check] refuses, members of one object that differ only
// by case, and input beyond the limits. It doesn't check the tool's schema. The error's text is for
// the model.
func Arguments(raw json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(bytes.Trim(raw, " \t\r\n")) == 0:
		return json.RawMessage("{}"), nil
	case len(raw) > MaxArguments:
		return nil, fmt.Errorf("they have %d bytes; the limit is %d", len(raw), MaxArguments)
	}
	if err := checkText(raw); err != nil {
		return nil, err
	}
	r := reader{same: FoldCase, most: MaxMembers}
	v, err := r.read(raw)
	if err != nil {
		return nil, err
	}
	return core.Encode(v), nil
}

// longestName is how much of a tool's name is kept, in bytes. An agent's tools have at most 64.
const longestName = 128

// longestRefused is how much is kept of arguments that were refused, in bytes.
const longestRefused = 2 << 10

// Refused is what the journal keeps of arguments that were refused: text that is safe to store and
// to show.
func Refused(raw json.RawMessage) json.RawMessage {
	text := strings.ToValidUTF8(string(raw), "\ufffd")
	if short := core.ClipBytes(text, longestRefused); short != text {
		text = short + "…"
	}
	return core.Encode(text)
}

// Turn returns the turn with the arguments of its calls in their canonical form. Text that is not
// JSON becomes a JSON string, which no schema of arguments takes. Of arguments that are refused it
// keeps the beginning, as a JSON string too; faults says why, by call.
func Turn(t core.Turn) (read core.Turn, faults []string) {
	faults = make([]string, len(t.Calls))
	t.Calls = slices.Clone(t.Calls)
	for i, c := range t.Calls {
		c.Name = strings.ToValidUTF8(c.Name, "\ufffd")
		if len(c.Name) > longestName {
			c.Name = core.ClipBytes(c.Name, longestName) + "…"
			faults[i] = fmt.Sprintf("the name of the tool is longer than %d bytes", longestName)
		}
		canonical, err := Arguments(c.Arguments)
		switch {
		case err == errNotJSON:
			canonical = core.Encode(string(c.Arguments))
		case err != nil:
			canonical = Refused(c.Arguments)
			faults[i] = cmp.Or(faults[i], err.Error())
		}
		c.Arguments = canonical
		t.Calls[i] = c
	}
	return t, faults
}
