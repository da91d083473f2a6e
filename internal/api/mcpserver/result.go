package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// The members of _meta of a result of an agent: which run it is about, and what became of the
// answers in the request.
const (
	runMeta     = "dormouse.dev/run"
	answersMeta = "dormouse.dev/answers"
)

// state is a run in a result.
type state struct {
	RunID         string          `json:"run_id"`
	ThreadID      string          `json:"thread_id"`
	Status        string          `json:"status"`
	Reason        string          `json:"reason,omitempty"`
	Code          string          `json:"code,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	ResponseState string          `json:"response_state,omitempty"`
	Error         *wire.RunError  `json:"error,omitempty"`
	Output        json.RawMessage `json:"output,omitempty"`
	Pending       []wire.Pending  `json:"pending,omitempty"`
}

func stateOf(run wire.Run) state {
	s := state{RunID: run.ID, ThreadID: run.ThreadID, Status: run.Status, Code: run.Code, Detail: run.Detail, Error: run.Error}
	if run.Reason != nil {
		s.Reason = *run.Reason
	}
	if run.ResponseState != nil {
		s.ResponseState = *run.ResponseState
	}
	return s
}

func metaOf(run wire.Run, said *replies) mcp.Meta {
	meta := mcp.Meta{runMeta: stateOf(run)}
	if said != nil && len(said.answers) > 0 {
		meta[answersMeta] = said.answers
	}
	return meta
}

// ended is the result of a run that is done: its output, or why there is none.
func (x *exchange) ended(run wire.Run, said *replies) *mcp.CallToolResult {
	result := &mcp.CallToolResult{Meta: metaOf(run, said)}
	s := stateOf(run)
	if s.Reason == core.NaturalEnd.String() || s.Reason == core.BehaviorRequested.String() {
		output, ok := run.OutputText()
		if !ok {
			output = "The run ended without an output."
		}
		result.Content = text(output)
		if bytes.HasPrefix(run.Output, []byte("{")) {
			result.StructuredContent = run.Output
		}
	} else {
		s.Output = run.Output
		result.IsError, result.StructuredContent = true, s
		result.Content = text(whyEnded(s))
	}
	result.Content = append(result.Content, told(said)...)
	return result
}

func whyEnded(s state) string {
	why := fmt.Sprintf("The run %s ended: %s", s.RunID, s.Reason)
	if s.Error != nil {
		return why + ". " + s.Error.Code + ": " + cmp.Or(s.Error.Detail, "no details")
	}
	if s.Code != "" {
		why += ", " + s.Code
	}
	if s.Detail != "" {
		why += ". " + s.Detail
	}
	return why
}

// told tells of answers that don't count.
func told(said *replies) (lines []mcp.Content) {
	for _, a := range said.answers {
		if a.Code == string(refusal.CodeAccepted) || a.Same != nil && *a.Same {
			continue
		}
		line := fmt.Sprintf("Your answer to %s wasn't used: %s: %s", printable.Text(a.Target), a.Code, a.Detail)
		lines = append(lines, text(line+first(a.Winner))...)
	}
	return lines
}

// first says which decision counts instead; empty if it isn't known.
func first(w *wire.Winner) string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf(" (%s by %s)", cmp.Or(w.Action, "answered"), cmp.Or(w.By, w.Via, "a caller without a name"))
}

// waiting is the result for a client that can't be asked, or not this: it names the run, and the
// tools to go on with.
func (x *exchange) waiting(run wire.Run, said *replies) *mcp.CallToolResult {
	s := stateOf(run)
	s.Pending = run.Pending
	return &mcp.CallToolResult{Meta: metaOf(run, said), StructuredContent: s,
		Content: append(text(x.progress(run)+"\n"+x.ways(run)), told(said)...)}
}

// progress says what a run that isn't done waits for.
func (x *exchange) progress(run wire.Run) string {
	if len(run.Pending) == 0 {
		return fmt.Sprintf("The run %s is not done yet (%s).", run.ID, run.Status)
	}
	lines := []string{fmt.Sprintf("The run %s waits for an answer.", run.ID)}
	for _, p := range run.Pending {
		lines = append(lines, x.waits(run, p))
	}
	return strings.Join(lines, "\n")
}

func (x *exchange) waits(run wire.Run, p wire.Pending) string {
	line := fmt.Sprintf("- %s %s of %s", p.Kind, p.Suspension.ID, cmp.Or(p.Tool, "the run itself"))
	if p.Tool != "" {
		line += " with the arguments " + oneLine(p.Arguments)
	}
	if p.Suspension.Message != "" {
		line += ": " + printable.Text(p.Suspension.Message)
	}
	if !core.IsNull(p.Suspension.ResponseSchema) {
		line += " (the answer fits the schema " + oneLine(p.Suspension.ResponseSchema) + ")"
	}
	if !x.mayAnswer(run, p) {
		line += " (someone else must answer)"
	}
	return line
}

// ways are the tools by which the caller goes on with a run.
func (x *exchange) ways(run wire.Run) string {
	words := fmt.Sprintf(`Follow it with get_run {"run_id": %q}.`, run.ID)
	for _, p := range run.Pending {
		if !x.may(access.Decide) || !x.mayAnswer(run, p) {
			continue
		}
		return words + fmt.Sprintf(` Once the user has decided, answer with decide {"run_id": %q, "target": %q, %s}.`, run.ID, p.Suspension.ID, howTo(p))
	}
	return words
}

// howTo are the members of a decision about a call.
func howTo(p wire.Pending) string {
	if slices.Contains([]string{core.KindClient.String(), core.KindInput.String()}, p.Kind) || p.ResumeMode == core.UseDecisionAsToolResult.String() && p.Kind == core.KindApproval.String() {
		return `"result": ...`
	}
	return `"action": "resume" or "cancel"`
}
