package planner_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// sayBody is a body that is begun, perhaps beside others of the same plan, with what is decided
// about it.
func sayBody(run plans.BodyRun, beside bool) string {
	line := fmt.Sprintf("%s %s%s", run.Call.ID, run.Call.Name, run.Call.Arguments)
	if beside {
		line = "beside " + line
	} else {
		line = "run " + line
	}
	if run.Attempt > 0 {
		line += fmt.Sprintf(", attempt %d", run.Attempt)
	}
	if run.AtMostOnce {
		line += ", at most once"
	}
	if run.MayHaveBegun {
		line += ", may have begun before"
	}
	if run.Resume != nil {
		line += ", with the decision " + run.Resume.Action.String()
	}
	return line
}

func sayCall(call *core.ToolCall) string {
	if call == nil {
		return ""
	}
	return " " + call.ID
}

// sayCommit is a commit: what it adds to the journal, the calls as they are then, and what it
// demands and leaves.
func sayCommit(c *plans.Commit, before core.Head, now int64) (lines []string) {
	lines = append(lines, "commit"+sayConditions(c, now))
	if c.Segment != nil {
		for _, m := range c.Segment.Messages {
			lines = append(lines, "  "+sayMessage(m))
		}
		var events []string
		for _, e := range c.Segment.Events {
			events = append(events, string(e.Type)+sayData(e.Data))
		}
		for part := range slices.Chunk(events, 4) {
			lines = append(lines, "  | "+strings.Join(part, ", "))
		}
	}
	if len(c.Votes) > 0 {
		lines = append(lines, "  "+sayVotes(c.Votes))
	}
	if len(c.Head.Calls) > 0 {
		lines = append(lines, "  = "+sayCalls(c.Head.Calls))
	}
	if h := c.Head; h.NotBefore > now && h.NotBefore != before.NotBefore {
		lines = append(lines, fmt.Sprintf("  not before +%.1fs", float64(h.NotBefore-now)/1000))
	}
	if outage := c.Head.Outage; outage != nil && outage != before.Outage {
		lines = append(lines, fmt.Sprintf("  outage for %.1fs, failures %d", float64(now-outage.Since)/1000, c.Head.ModelTries))
	}
	if len(c.Head.Grants) > 0 {
		lines = append(lines, "  grants "+strings.Join(c.Head.Grants, ", "))
	}
	return lines
}

func sayConditions(c *plans.Commit, now int64) string {
	var words []string
	if c.AllSeen {
		words = append(words, "closing")
	}
	if c.Over {
		words = append(words, "gives up as "+c.Head.Status.String())
	}
	if c.Due != nil && *c.Due > 0 {
		words = append(words, fmt.Sprintf("due +%.1fs", float64(*c.Due-now)/1000))
	}
	if c.Over && c.Head.Pending > 0 {
		words = append(words, fmt.Sprintf("pending %d", c.Head.Pending))
	}
	if c.Wake != nil {
		words = append(words, fmt.Sprintf("wake +%.1fs", float64(*c.Wake)/1000))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func sayMessage(m core.Message) string {
	who := string(m.Role)
	switch m.Role {
	case core.RoleTool:
		who = "result of " + m.CallID
		if how := m.CallOutcome(); m.Pending {
			who = "placeholder for " + m.CallID
			return who
		} else if how != core.CallOutcomeSucceeded {
			who += " [" + string(how) + "]"
		}
	case core.RoleAssistant:
		for _, c := range m.Calls {
			who += fmt.Sprintf(" calls %s %s%s", c.ID, c.Name, c.Arguments)
		}
	}
	line := who
	if text := m.Text() + core.AddedToResult(m.RanWith, m.Added); text != "" {
		line += fmt.Sprintf(": %q", text)
	}
	if m.Answers != "" {
		line += ", answers " + m.Answers
	}
	return line
}

// sayData is what an event says beside its type: the members that tell one course of a run from
// another.
func sayData(raw json.RawMessage) string {
	var data map[string]any
	if json.Unmarshal(raw, &data) != nil {
		return ""
	}
	var words []string
	for _, name := range []string{"call_id", "kind", "cause", "status", "reason", "code", "action", "by", "applied", "timed_out", "late", "outcome", "may_have_run", "attempts", "detail"} {
		switch v := data[name].(type) {
		case nil:
		case bool:
			if v {
				words = append(words, name)
			}
		case string:
			if strings.Contains(v, " ") {
				v = fmt.Sprintf("%q", v)
			}
			words = append(words, ownCallName(v))
		default:
			words = append(words, fmt.Sprint(name, " ", v))
		}
	}
	if pending, ok := data["pending"].(map[string]any); ok {
		words = append(words, string(core.Encode(pending["arguments"])))
	}
	if data["follows"] != nil {
		words = append(words, sayAskedAgain(data)...)
	}
	if ballot, ok := data["vote"].(map[string]any); ok {
		words = append(words, fmt.Sprintf("%v, %v yes, %v no", ballot["outcome"], ballot["yes"], ballot["no"]))
	}
	if ops, ok := data["ops"].([]any); ok {
		words = append(words, fmt.Sprint(len(ops), " writes"))
	}
	if len(words) == 0 {
		return ""
	}
	return "(" + strings.Join(words, " ") + ")"
}

// sayAskedAgain is what a suspension asks that follows another.
func sayAskedAgain(data map[string]any) (words []string) {
	if mode := data["resume_mode"]; mode != core.ReplayToolCall.String() {
		words = append(words, fmt.Sprint(mode))
	}
	if data["grantable"] == true {
		words = append(words, "grantable")
	}
	if asked, ok := data["suspension"].(map[string]any); ok && asked["message"] != nil {
		words = append(words, fmt.Sprintf("%q", asked["message"]))
	}
	if asked, ok := data["suspension"].(map[string]any); ok && asked["response_schema"] != nil {
		words = append(words, "with a schema")
	}
	return words
}

// ownCallName leaves the random part out of the id of a synthetic call.
func ownCallName(id string) string {
	name, _, _ := strings.Cut(id, ":f")
	return name
}

func sayCalls(calls map[string]core.Call) string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		c := calls[id]
		word := ownCallName(id) + " " + c.Status.String()
		switch {
		case c.Status == core.CallSuspended:
			word += " for " + c.Kind.String()
		case c.HeldBehind != "":
			word += " behind " + ownCallName(c.HeldBehind)
		case c.IntentEpoch != 0:
			word += " with an intent"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
