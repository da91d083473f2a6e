package cli

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// tale tells what a run does in the words of people. It is shown the run's events in order and remembers the calls, so that what happens to
// one can be told by its name. It prints nothing.
type tale struct {
	now     func() time.Time
	calls   map[string]told // by id
	running map[string]bool // calls whose start was told live
	ended   fact            // the last turn.ended: it says why a run is done
}

// told is what a call asks for.
type told struct {
	tool      string
	arguments json.RawMessage
}

func newTale(now func() time.Time) *tale {
	return &tale{now: now, calls: map[string]told{}, running: map[string]bool{}}
}

// fact is what the events of a run carry, of all sorts.
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
	TimedOut   bool            `json:"timed_out"`
	Late       bool            `json:"late"`
	Applied    *bool           `json:"applied"`
	Grant      string          `json:"grant"`
	Live       bool            `json:"live"`
	Done       float64         `json:"done"`
	Total      float64         `json:"total"`
	Ops        []struct {
		Key string `json:"key"`
	} `json:"ops"`
}

// silent are the events that matter to programs only.
var silent = map[string]bool{"turn.started": true, "turn.ended": true, "step.started": true, "step.ended": true, "activation.ended": true,
	"call.resuming": true, "state.snapshot": true, "reasoning.delta": true, "reasoning.ended": true, "text.delta": true}

// tell is an event in words: no line, one, or several of which the later ones belong to the first.
func (t *tale) tell(e wire.Event) []line {
	var f fact
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &f) != nil {
		return []line{text(e.Type + " " + Describe(e))}
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
	case "state.delta":
		return []line{{{faint, "remembers " + keys(f)}}}
	case "step.reset":
		return []line{{{yellow, t.reset(f)}}}
	case "hook.failed":
		return []line{{{yellow, "a hook failed: " + f.Detail}}}
	case "memory.failed":
		return []line{{{yellow, "the memory failed: " + f.Detail}}}
	case "message.queued":
		return []line{text("a message is queued behind this run")}
	case "interrupt.recorded":
		return []line{text("asked to pause" + by(f.By) + "; it was paused already, or is done")}
	}
	return []line{text(strings.TrimSpace(e.Type + "  " + Describe(e)))}
}

// reset says why the model is asked again.
func (t *tale) reset(f fact) string {
	switch f.Reason {
	case "model_unavailable":
		words := "the model gave no answer and is asked again: " + f.Text
		if left := f.TryAt.Sub(t.now()); left > 0 {
			words += "; next attempt in " + lasting(left)
		}
		return words
	case "repeated":
		return "what the model was saying does not count"
	}
	return "makes way for others; the model is asked again"
}

// note remembers what later events are told by.
func (t *tale) note(e wire.Event, f fact) {
	switch e.Type {
	case "turn.ended":
		t.ended = f
	case "call.ready":
		t.calls[f.CallID] = told{f.Tool, f.Arguments}
	case "call.suspended":
		t.calls[f.CallID] = told{f.Tool, f.Arguments} // what it would run with
	}
}

func (t *tale) status(e wire.Event, f fact) []line {
	switch {
	case f.Status == "waiting":
		return []line{{{faint, "sleeps until somebody answers"}}}
	case f.Status == "running" && e.Turn <= 1:
		return []line{{{faint, "begins"}}}
	case f.Status == "running":
		return []line{{{faint, "wakes up"}}}
	case f.Status != "done":
		return []line{text(f.Status)}
	}
	how, reason := green, cmp.Or(f.DoneReason, t.ended.Reason)
	switch reason {
	case "error":
		how = red
	case "stopped", "cancelled", "blocked":
		how = yellow
	}
	words := "done"
	if extra := strings.TrimSpace(reason + " " + t.ended.Code); extra != "" {
		words += " (" + extra + ")"
	}
	if t.ended.Detail != "" {
		words += ": " + t.ended.Detail
	}
	return []line{{{how, oneLine(words)}}}
}

func (t *tale) call(e wire.Event, f fact) []line {
	tool := cmp.Or(spelled(f.Tool), spelled(t.calls[f.CallID].tool), "the run")
	switch e.Type {
	case "call.ready":
		return []line{{{asIs, "asks for "}, {cyan, tool}, {asIs, " " + inWords(f.Arguments)}}}
	case "call.invalid":
		return []line{{{yellow, "asked for " + tool + " in a way that does not fit: " + oneLine(f.Detail)}}}
	case "call.started":
		if seen := t.running[f.CallID]; seen {
			delete(t.running, f.CallID)
			return nil // it was told while it ran
		}
		t.running[f.CallID] = f.Live
		return []line{{{asIs, "runs "}, {cyan, tool}}}
	case "call.progress":
		return []line{{{faint, tool + " " + f.progress()}}}
	case "call.succeeded":
		return []line{{{cyan, tool}, {asIs, " returns " + shorten(word(f.Result), longest)}}}
	case "call.failed":
		return []line{{{red, tool + " failed"}, {asIs, after(": ", shorten(cmp.Or(word(f.Result), f.why()), longest))}}}
	case "call.cancelled":
		return []line{{{yellow, tool + " was not run"}, {asIs, after(": ", shorten(cmp.Or(word(f.Result), f.why()), longest))}}}
	case "call.suspended":
		return t.suspended(e, f, tool)
	}
	return []line{text(e.Type + "  " + Describe(e))}
}

// progress is how far a tool is.
func (f fact) progress() string {
	words := strconv.FormatFloat(f.Done, 'f', -1, 64)
	if f.Total > 0 {
		words += " of " + strconv.FormatFloat(f.Total, 'f', -1, 64)
	}
	return strings.TrimSpace(words + " " + oneLine(f.Text))
}

// longest is how much of a result is told; the messages verb shows all of it.
const longest = 300

func (t *tale) suspended(e wire.Event, f fact, tool string) []line {
	words := map[string]string{"approval": "approval of " + tool, "client": "the client's result of " + tool, "input": "an answer to " + tool,
		"unknown_outcome": "word of what became of " + tool, "interrupt": "the word to go on", "child": "the run that " + tool + " began"}[f.Kind]
	rest := ""
	if now := t.now(); now.Sub(e.At.Time) > time.Minute {
		rest = " since " + e.At.UTC().Format("15:04")
	}
	if f.Deadline != nil {
		rest += untilDeadline(f.Deadline.Time, t.now())
	}
	lines := []line{{{yellow, "waits for " + cmp.Or(words, f.Kind+" of "+tool)}, {asIs, rest}}}
	var sus wire.Suspension
	if json.Unmarshal(f.Suspension, &sus) == nil && sus.Message != "" {
		lines = append(lines, text(spelled(oneLine(sus.Message))))
	}
	return lines
}

// untilDeadline says how long is left, for the end of a sentence.
func untilDeadline(at, now time.Time) string {
	if left := at.Sub(now); left > 0 {
		return ", deadline in " + lasting(left)
	}
	return ", its deadline was " + at.UTC().Format(timeFormat)
}

func (t *tale) decision(f fact) []line {
	if f.TimedOut {
		return []line{{{yellow, "no answer came before the deadline"}}}
	}
	how, words := green, "approved"
	switch {
	case f.Action == "cancel":
		how, words = red, "denied"
	case !core.IsNull(f.Result):
		words = "answered"
	case f.why() != "":
		how, words = red, "answered with an error"
	}
	words += by(f.By)
	if f.Grant != "" {
		words += ", and the like calls of this turn"
	}
	if f.Late {
		how, words = yellow, words+", too late to count"
	} else if f.Applied != nil && !*f.Applied {
		how, words = yellow, words+", without effect: the run was cancelled with it"
	}
	said := spelled(oneLine(cmp.Or(f.Reason, f.why())))
	if words := word(f.Result); said == "" && words != "" {
		said = shorten(words, longest)
	}
	lines := []line{{{how, words}, {asIs, after(": ", said)}}}
	if !core.IsNull(f.Arguments) {
		lines = append(lines, text("with other arguments:"))
		lines = append(lines, diff(t.calls[f.CallID].arguments, f.Arguments)...)
	}
	return lines
}

// says is what the model said, line by line.
func says(words string) []line {
	var lines []line
	lead := "says: "
	for _, l := range cleanProse(words) {
		lines = append(lines, line{{asIs, lead}, {bold, l}})
		lead = "      " // below it: no line of the model's looks like one of ours
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

func by(who string) string { return after(" by ", who) }

// after is words behind a link, or nothing.
func after(link, words string) string {
	if words == "" {
		return ""
	}
	return link + words
}

func keys(f fact) string {
	names := make([]string, len(f.Ops))
	for i, op := range f.Ops {
		names[i] = op.Key
	}
	return strings.Join(names, ", ")
}
