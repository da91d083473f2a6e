package narrate

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// EventPage is how many events one request asks for.
const EventPage = 100

// Describe says in a few words, on one line, what an event tells beyond its type; "" if nothing.
func Describe(e wire.Event) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return ""
	}
	words := standing(members)
	if members["outcome"] != nil {
		delete(members, "status") // the outcome says more
	}
	for _, name := range []string{"cause", "status", "outcome", "tool_name", "call_id", "kind", "action", "reason", "done_reason",
		"code", "arguments", "result", "text", "error", "detail", "message"} {
		if w := word(members[name]); w != "" {
			words = append(words, w)
		}
	}
	var at time.Time
	if json.Unmarshal(members["try_at"], &at) == nil {
		words = append(words, "next attempt "+at.UTC().Format(time.TimeOnly))
	}
	return display.Shorten(display.Clean(strings.Join(words, "  ")), 160)
}

// standing says of a decision what its action does not: that the deadline made it, or that it came
// too late to count.
func standing(members map[string]json.RawMessage) []string {
	switch {
	case string(members["timed_out"]) == "true":
		return []string{"by the deadline"}
	case string(members["late"]) == "true":
		return []string{"late, not used"}
	}
	return nil
}

// word is a JSON value in plain text: a string without its quotes, anything else as it is, null as
// nothing.
func word(raw json.RawMessage) string {
	var text *string
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return ""
		}
		return display.OneLine(*text)
	}
	return display.CleanJSON(raw)
}
