// Package narrate describes the events of a run in words.
package narrate

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// Tale describes a run in words. It gets the run's events in order and remembers the calls, so that
// later events can name their tools. It prints nothing.
type Tale struct {
	now     func() time.Time
	calls   map[string]request // by id
	running map[string]bool    // calls whose start was shown live
	ended   fact               // the last turn.ended: it says why a run is done
	below   bool               // the run waits for nothing but runs that it has started
}

// request is what the model asked for in a call.
type request struct {
	tool      string
	arguments json.RawMessage
	deadline  *wire.Time // of its wait
}

// NewTale starts a tale. now is the clock for the time until deadlines.
func NewTale(now func() time.Time) *Tale {
	return &Tale{now: now, calls: map[string]request{}, running: map[string]bool{}}
}

// fact is the data of an event of any type.
type fact struct {
	Status     string          `json:"status"`
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments"`
	Kind       string          `json:"kind"`
	Deadline   *wire.Time      `json:"deadline"`
	Suspension json.RawMessage `json:"suspension"`
	Action     string          `json:"action"`
	By         string          `json:"by"`
	Reason     string          `json:"reason"`
	DoneReason string          `json:"done_reason"`
	Result     json.RawMessage `json:"result"`
	Error      any             `json:"error"`
	Code       string          `json:"code"`
	Detail     string          `json:"detail"`
	Text       string          `json:"text"`
	TryAt      wire.Time       `json:"try_at"`
	timeout
	counting
	child
	Grant string  `json:"grant"`
	Live  bool    `json:"live"`
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
	Ops   []struct {
		Key string `json:"key"`
	} `json:"ops"`
}

// timeout is what came of time in a fact.
type timeout struct {
	TimedOut bool   `json:"timed_out"`
	Silent   bool   `json:"silent"`
	Group    string `json:"group"` // that is asked because time has passed
}

// counting is whether a decision counts in a fact.
type counting struct {
	Vote    *client.Ballot `json:"vote"`
	Late    bool           `json:"late"`
	Applied *bool          `json:"applied"`
}

// silent are the events that are not shown to people.
var silent = map[string]bool{"turn.started": true, "turn.ended": true, "step.started": true, "step.ended": true, "activation.ended": true,
	"call.resuming": true, "state.snapshot": true, "reasoning.delta": true, "reasoning.ended": true, "text.delta": true}

// Tell describes an event in any number of lines. Further lines belong to the first.
func (t *Tale) Tell(e wire.Event) []display.Line {
	var f fact
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &f) != nil {
		return []display.Line{display.Text(e.Type + " " + Describe(e))}
	}
	t.note(e, f)
	if silent[e.Type] {
		return nil
	}
	if e.Type == "run.status" {
		return t.status(e, f)
	}
	if strings.HasPrefix(e.Type, "call.") {
		return t.call(e, f)
	}
	switch e.Type {
	case "text.ended":
		return says(f.Text)
	case "decision.recorded":
		return t.decision(f)
	case "decision.refused":
		return refused(f)
	case "decision.withdrawn":
		return withdrawn(f)
	case "child.started", "child.ended":
		return t.child(e, f)
	case "remote.started", "remote.ended":
		return elsewhere(e, f)
	case "state.delta":
		return []display.Line{{{Style: display.Faint, Text: "state changed: " + keys(f)}}}
	case "step.reset":
		return []display.Line{{{Style: display.Yellow, Text: t.reset(f)}}}
	case "hook.failed":
		return []display.Line{{{Style: display.Yellow, Text: "a hook failed: " + f.Detail}}}
	case "memory.failed":
		return []display.Line{{{Style: display.Yellow, Text: "the memory failed: " + f.Detail}}}
	case "message.queued":
		return []display.Line{display.Text("a message is queued for the next run")}
	case "interrupt.recorded":
		return []display.Line{display.Text("interrupt requested" + by(f.By) + "; the run was already paused or done")}
	}
	return []display.Line{display.Text(strings.TrimSpace(e.Type + "  " + Describe(e)))}
}

// reset says why the model will be asked again.
func (t *Tale) reset(f fact) string {
	switch f.Reason {
	case "model_unavailable":
		words := "the model didn't answer: " + f.Text
		if left := f.TryAt.Sub(t.now()); left > 0 {
			words += "; next attempt in " + display.Lasting(left)
		}
		return words
	case "repeated":
		return "the partial answer of the model was discarded"
	}
	return "yields to other runs; the model will be asked again"
}

// note remembers what the descriptions of later events need.
func (t *Tale) note(e wire.Event, f fact) {
	switch e.Type {
	case "turn.ended":
		t.ended = f
	case "call.ready":
		t.calls[f.CallID] = request{f.Tool, f.Arguments, nil}
	case "call.suspended":
		t.calls[f.CallID] = request{f.Tool, f.Arguments, f.Deadline} // as it would run
	case "activation.ended":
		t.below = f.Outcome == events.ActivationChildren
	}
}

func (t *Tale) status(e wire.Event, f fact) []display.Line {
	switch {
	case f.Status == "waiting" && t.below:
		return []display.Line{{{Style: display.Faint, Text: "suspended until a run that it started ends"}}}
	case f.Status == "waiting":
		return []display.Line{{{Style: display.Faint, Text: "suspended until a decision arrives"}}}
	case f.Status == "running" && e.Turn <= 1:
		return []display.Line{{{Style: display.Faint, Text: "started"}}}
	case f.Status == "running":
		return []display.Line{{{Style: display.Faint, Text: "resumed"}}}
	case f.Status != "done":
		return []display.Line{display.Text(f.Status)}
	}
	how, reason := display.Green, cmp.Or(f.DoneReason, t.ended.Reason)
	switch reason {
	case "error":
		how = display.Red
	case "stopped", "cancelled", "blocked":
		how = display.Yellow
	}
	words := "done"
	if extra := strings.TrimSpace(reason + " " + t.ended.Code); extra != "" {
		words += " (" + extra + ")"
	}
	if t.ended.Detail != "" {
		words += ": " + t.ended.Detail
	}
	return []display.Line{{{Style: how, Text: display.OneLine(words)}}}
}

func (t *Tale) call(e wire.Event, f fact) []display.Line {
	tool := cmp.Or(display.Spelled(f.Tool), display.Spelled(t.calls[f.CallID].tool), "the run")
	switch e.Type {
	case "call.ready":
		return []display.Line{{{Style: display.AsIs, Text: "asks for "}, {Style: display.Cyan, Text: tool}, {Style: display.AsIs, Text: " " + display.InWords(f.Arguments)}}}
	case "call.invalid":
		return []display.Line{{{Style: display.Yellow, Text: "called " + tool + " with invalid arguments: " + display.OneLine(f.Detail)}}}
	case "call.started":
		if seen := t.running[f.CallID]; seen {
			delete(t.running, f.CallID)
			return nil // it was shown while it ran
		}
		t.running[f.CallID] = f.Live
		return []display.Line{{{Style: display.AsIs, Text: "runs "}, {Style: display.Cyan, Text: tool}}}
	case "call.progress":
		return []display.Line{{{Style: display.Faint, Text: tool + " " + f.progress()}}}
	case "call.succeeded":
		return []display.Line{{{Style: display.Cyan, Text: tool}, {Style: display.AsIs, Text: " returns " + display.Shorten(word(f.Result), longest)}}}
	case "call.failed":
		return []display.Line{{{Style: display.Red, Text: tool + " failed"}, {Style: display.AsIs, Text: display.After(": ", display.Shorten(cmp.Or(word(f.Result), f.why()), longest))}}}
	case "call.cancelled":
		return []display.Line{{{Style: display.Yellow, Text: tool + " was not run"}, {Style: display.AsIs, Text: display.After(": ", display.Shorten(cmp.Or(word(f.Result), f.why()), longest))}}}
	case "call.suspended":
		return t.suspended(e, f, tool)
	case "call.reminded":
		return []display.Line{{{Style: display.Yellow, Text: tool + " still waits: its people are reminded"}}}
	case "call.escalated":
		return []display.Line{{{Style: display.Yellow, Text: tool + " still waits: now the group " + display.Spelled(f.Group) + " is asked"}}}
	case "call.deadline_near":
		return []display.Line{{{Style: display.Yellow, Text: tool + " still waits, and its deadline is near"}}}
	}
	return []display.Line{display.Text(e.Type + "  " + Describe(e))}
}

// progress is the progress of a tool.
func (f fact) progress() string {
	words := strconv.FormatFloat(f.Done, 'f', -1, 64)
	if f.Total > 0 {
		words += " of " + strconv.FormatFloat(f.Total, 'f', -1, 64)
	}
	return strings.TrimSpace(words + " " + display.OneLine(f.Text))
}

// longest is how much of a result is shown; the command messages shows all of it.
const longest = 300

func (t *Tale) suspended(e wire.Event, f fact, tool string) []display.Line {
	if f.Kind == "child" {
		return nil // the start of the run follows
	}
	words := map[string]string{"approval": "approval of " + tool, "client": "the client's result of " + tool, "input": "an answer to " + tool,
		"unknown_outcome": "the outcome of " + tool, "interrupt": "a resume"}[f.Kind]
	rest := ""
	if now := t.now(); now.Sub(e.At.Time) > time.Minute {
		rest = " since " + e.At.UTC().Format("15:04")
	}
	if f.Deadline != nil {
		rest += display.UntilDeadline(f.Deadline.Time, t.now())
	}
	lines := []display.Line{{{Style: display.Yellow, Text: "waits for " + cmp.Or(words, f.Kind+" of "+tool)}, {Style: display.AsIs, Text: rest}}}
	var sus wire.Suspension
	if json.Unmarshal(f.Suspension, &sus) == nil && sus.Message != "" {
		lines = append(lines, display.Text(display.Spelled(display.OneLine(sus.Message))))
	}
	return lines
}

func (t *Tale) decision(f fact) []display.Line {
	if f.Silent {
		return []display.Line{{{Style: display.Yellow, Text: "approved: no one answered in time, and the policy approves then"}}}
	}
	if f.TimedOut {
		return []display.Line{{{Style: display.Yellow, Text: "timed out: no decision before the deadline"}}}
	}
	how, words := display.Green, "approved"
	switch {
	case f.Action == "cancel":
		how, words = display.Red, "denied"
	case !core.IsNull(f.Result):
		words = "answered"
	case f.why() != "":
		how, words = display.Red, "answered with an error"
	}
	words += by(f.By)
	if f.Grant != "" {
		words += ", including similar calls in this turn"
	}
	if f.Vote != nil {
		words += ", " + tally(*f.Vote, f.Action)
	} else if f.Late {
		how, words = display.Yellow, words+", too late to take effect"
	} else if f.Applied != nil && !*f.Applied {
		how, words = display.Yellow, words+", no effect: the run was cancelled first"
	}
	said := display.Spelled(display.OneLine(cmp.Or(f.Reason, f.why())))
	if words := word(f.Result); said == "" && words != "" {
		said = display.Shorten(words, longest)
	}
	lines := []display.Line{{{Style: how, Text: words}, {Style: display.AsIs, Text: display.After(": ", said)}}}
	if !core.IsNull(f.Arguments) {
		lines = append(lines, display.Text("with edited arguments:"))
		lines = append(lines, display.Diff(t.calls[f.CallID].arguments, f.Arguments)...)
	}
	return lines
}

// says is what the model said, line by line.
func says(words string) []display.Line {
	var lines []display.Line
	lead := "says: "
	for _, l := range display.CleanProse(words) {
		lines = append(lines, display.Line{{Style: display.AsIs, Text: lead}, {Style: display.Bold, Text: l}})
		lead = "      " // indented, so that no line of the model looks like an event
	}
	return lines
}

// why is the error of an event, which is text or a code with a detail.
func (f fact) why() string {
	switch e := f.Error.(type) {
	case string:
		return e
	case map[string]any:
		code, _ := e["code"].(string)
		detail, _ := e["detail"].(string)
		return strings.TrimSpace(code + " " + detail)
	}
	return ""
}

func by(who string) string { return display.After(" by ", who) }

func keys(f fact) string {
	names := make([]string, len(f.Ops))
	for i, op := range f.Ops {
		names[i] = op.Key
	}
	return strings.Join(names, ", ")
}
