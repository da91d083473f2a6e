package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// mostWarnings are those of edited arguments. A user who is warned twenty times looks at all of
// them.
const mostWarnings = 20

// proposal is what the user reads before a decision of the model is stored: the decision first,
// then what it is about. Each line begins with what it is, and no text of the model can begin
// another.
func proposal(d decision, asked *wire.Approval) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s", headline(d, asked))
	add("The model has proposed this. It counts only if you confirm it.")
	if d.Result != nil {
		add("Answer: %s", oneLine(d.Result))
	}
	if d.Error != "" {
		add("Error: %s", quoted(d.Error))
	}
	edited := !core.IsNull(d.Arguments)
	if edited {
		add("Arguments, as the model has edited them: %s", oneLine(d.Arguments))
		for _, w := range printable.Warnings(d.Arguments, mostWarnings) {
			add("Warning: %s: %s", printable.Text(w.Path), w.Text)
		}
	}
	if d.Grant != "" {
		add("Grant: %s", cmp.Or(asked.GrantScope, quoted(d.Grant)))
	}
	if d.Reason != "" {
		add("Reason, in the words of the model: %s", quoted(d.Reason))
	}
	return strings.Join(append(lines, subject(asked, edited)...), "\n")
}

// headline is the decision in a few words.
func headline(d decision, asked *wire.Approval) string {
	tool, approval := cmp.Or(printable.Text(asked.Tool), "the run"), asked.Kind == core.KindApproval.String()
	answers := !approval || asked.ResumeMode == core.UseDecisionAsToolResult.String()
	switch {
	case approval && (d.Error != "" || d.Action == core.ActionCancel.String()):
		return "Deny " + tool + "?"
	case d.Action == core.ActionCancel.String():
		return "Cancel " + tool + ", without an answer?"
	case answers && (d.Result != nil || d.Error != ""):
		return "Answer " + tool + "?"
	case approval && !answers && d.denies():
		return "Deny " + tool + "?"
	case approval:
		return "Approve " + tool + "?"
	case asked.Kind == core.KindUnknownOutcome.String():
		return "Run " + tool + " again? It may have taken effect already."
	}
	return "Resume " + tool + "?"
}

// denies says whether a decision on an approval is a no. A result can say it, as well as a yes.
func (d decision) denies() bool {
	q := answer.Question{Kind: core.KindApproval, Mode: core.PassDecisionToTool}
	read, err := answer.Read(q, answer.Input{Action: d.Action, Result: d.Result})
	return err == nil && read.Action == core.ActionCancel
}

// subject is the question that the decision is about.
func subject(asked *wire.Approval, edited bool) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	before := ""
	if edited {
		before = ", before the edit"
	}
	if asked.Tool != "" {
		add("Arguments%s: %s", before, oneLine(asked.Arguments))
	}
	if message := cmp.Or(asked.Suspension.Message, asked.Suspension.Action); message != "" {
		add("Question: %s", printable.Text(message))
	}
	if asked.Preview != nil {
		add("Preview%s: %s", before, printable.Text(cmp.Or(asked.Preview.Text, asked.Preview.Failed)))
	}
	for _, w := range asked.Warnings {
		add("Warning%s: %s: %s", before, printable.Text(w.Path), w.Text)
	}
	if asked.Votes != nil {
		add("Approvals: %d of %d", asked.Votes.Yes, asked.Votes.Need)
	}
	agents := asked.Agent
	for i, step := range asked.Path {
		if i == 0 {
			agents = step.Agent
			continue
		}
		agents += " > " + step.Agent
	}
	add("Asked by: %s, run %s", printable.Text(agents), asked.RunID)
	if asked.StartedBy != nil && asked.StartedBy.By != "" {
		add("Run for: %s", printable.Text(asked.StartedBy.By))
	}
	return lines
}

// quoted is text as a string of JSON, on one line.
func quoted(text string) string { return oneLine(core.Encode(text)) }

// oneLine shows JSON on one line, so that the line breaks between its members begin no line of
// their own.
func oneLine(raw json.RawMessage) string {
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		return printable.Text(string(raw))
	}
	return printable.JSON(line.String())
}
