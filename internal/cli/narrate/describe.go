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

// Describe summarizes the data of an event on one line. It returns "" if the type says everything.
func Describe(e wire.Event) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return ""
	}
	words := standing(members)
	if members["outcome"] != nil {
		delete(members, "status") // the outcome is more specific
	}
	for _, name := range []string{"cause", "status", "outcome", "tool_name", "call_id", "kind", "action", "reason", "done_reason",
		"code", "agent", "child_run_id", "task_id", "url", "arguments", "result", "text", "error", "detail", "message"} {
		if w := word(members[name]); w != "" {
			words = append(words, w)
		}
	}
	if strings.HasPrefix(e.Type, "decision.") {
		words = append(words, whose(members)...)
	}
	var at time.Time
	if json.Unmarshal(members["try_at"], &at) == nil {
		words = append(words, "next attempt "+at.UTC().Format(time.TimeOnly))
	}
	return display.Shorten(display.Clean(strings.Join(words, "  ")), 160)
}

// standing says whether the deadline made a decision, or whether it came too late.
func standing(members map[string]json.RawMessage) []string {
	switch {
	case string(members["timed_out"]) == "true":
		return []string{"by the deadline"}
	case string(members["late"]) == "true":
		return []string{"too late, not applied"}
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
