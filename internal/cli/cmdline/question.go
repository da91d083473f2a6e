package cmdline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// resultMode is the resume mode in which an approved call does not run: the decision is its result.
var resultMode = core.UseDecisionAsToolResult.String()

// TakesResult reports whether an approval needs a result, because the tool does not run after it.
func TakesResult(p wire.Pending) bool { return p.Kind == "approval" && p.ResumeMode == resultMode }

// AsksToGoOn reports whether the run itself asks whether it may go on; no tool is behind it.
func AsksToGoOn(p wire.Pending) bool { return p.Kind == "approval" && p.Tool == "" }

// AwaitedWhat says what a call waits for.
func AwaitedWhat(p wire.Pending) string {
	switch {
	case p.Kind == "interrupt":
		return "a resume"
	case p.Kind == "client":
		return "the client's result of " + display.Spelled(p.Tool)
	case p.Kind == "input":
		return "an answer to " + display.Spelled(p.Tool)
	case p.Kind == "unknown_outcome":
		return "the outcome of " + display.Spelled(p.Tool)
	case AsksToGoOn(p):
		return "approval to go on"
	case TakesResult(p):
		return "a person's result of " + display.Spelled(p.Tool)
	}
	return p.Kind + " of " + display.Spelled(p.Tool)
}

// ArgumentsMean says what happens with a call's arguments after an approval. It says that the tool
// runs only if it does.
func ArgumentsMean(p wire.Pending) string {
	tool := cmp.Or(display.Spelled(p.Tool), "it")
	switch {
	case AsksToGoOn(p):
		return "the run would go on with"
	case TakesResult(p):
		return tool + " does not run; your answer is its result. It was called with"
	case p.Kind == "approval" && p.ResumeMode == core.PassDecisionToTool.String():
		return tool + " would run with your answer and"
	case p.Kind == "approval":
		return tool + " would run with"
	case p.Kind == "unknown_outcome":
		return tool + " may have run with"
	}
	return tool + " was called with"
}

// entry is a fact about a waiting call, on one line or several.
type entry struct {
	Name  string
	Lines []string
}

// reached are the words before the target of a tool's calls, by the tool's kind.
var reached = map[string]string{"http": "HTTP request to ", "lambda": "Lambda function ", "mcp": "MCP server and tool ", "go": "function in the server ",
	"agent": "a run of the agent ", "a2a": "a task for the agent at "}

// Preview describes what a call would do. The result of a preview tool is labeled current: under
// the label preview, the old value could be taken for the new one.
func Preview(p wire.Pending) []entry {
	v := p.Preview
	switch {
	case v == nil:
		return nil
	case v.Tool != "" && v.Failed == "":
		return []entry{{"current", display.SpelledLines(v.Text)}}
	}
	return []entry{{"preview", display.SpelledLines(cmp.Or(v.Text, v.Failed))}}
}

// Background is who requested a call, what they and the model said, what its tool does and what it
// reaches. All texts except the labels come from others, so they are spelled.
func Background(p wire.Pending) (facts []entry) {
	facts = mayApprove(p)
	add := func(name string, lines ...string) { facts = append(facts, entry{name, lines}) }
	if p.RequestsCut {
		add("requests", "earlier messages are not shown")
	}
	for i, r := range p.Requests {
		label := "request"
		if i < len(p.Requests)-1 {
			label = "earlier"
		}
		if r.Text != "" {
			add(label, goesOn(display.SpelledLines(r.Text), r.Cut)...)
		}
		if r.Files > 0 {
			add("files", fmt.Sprintf("%d came with it and are not shown", r.Files))
		}
		if r.By != "" {
			add("from", callerWords(r.By, r.Via))
		}
	}
	if p.Said != "" {
		add("model said", goesOn(display.SpelledLines(p.Said), p.SaidCut)...)
	}
	if t := p.ToolDetails; t != nil {
		if t.Description != "" {
			add("the tool", display.SpelledLines(t.Description)...)
		}
		if words, known := reached[t.Kind]; known && t.Target != "" {
			add("calls", words+display.Spelled(t.Target))
		}
	}
	return facts
}

// OfRun is what is known about the run of a waiting call.
func OfRun(started *wire.Actor, version string, metadata []byte) (facts []entry) {
	if started != nil {
		facts = append(facts, entry{"started by", []string{callerWords(started.By, started.Via)}})
	}
	if version != "" {
		facts = append(facts, entry{"version", []string{display.Spelled(version)}})
	}
	if !core.IsNull(metadata) {
		facts = append(facts, entry{"metadata", []string{display.Spelled(display.CleanJSON(metadata))}})
	}
	return facts
}

// mayApprove says which callers may approve the call, if not everyone with the role decide.
func mayApprove(p wire.Pending) (facts []entry) {
	if p.Votes != nil {
		facts = append(facts, entry{"votes", votesIn(*p.Votes)})
	}
	if len(p.Approvers) > 0 {
		facts = append(facts, entry{"approvers", []string{display.Spelled(strings.Join(p.Approvers, ", "))}})
	}
	if p.NotBy == core.NotByStarter {
		facts = append(facts, entry{"not by", []string{"the callers who requested this work; they may only deny"}})
	}
	return facts
}

// votesIn says how far several people have come with a decision, and who has voted.
func votesIn(v wire.Votes) []string {
	words := fmt.Sprintf("%d of %d approved", v.Yes, v.Need)
	if v.No > 0 {
		words += fmt.Sprintf(", %d denied", v.No)
	}
	if v.Group != "" {
		words += ", group " + display.Spelled(v.Group)
	}
	if v.Stages > 1 {
		words += fmt.Sprintf(", stage %d of %d", v.Stage, v.Stages)
	}
	lines := []string{words}
	for _, voter := range v.Voters {
		said := map[bool]string{true: "approved", false: "denied"}[voter.Action == core.ActionResume.String()]
		if voter.Edited {
			said += " with edited arguments"
		}
		lines = append(lines, callerWords(voter.By, voter.Via)+" "+said)
	}
	return lines
}

// goesOn marks a text that was cut.
func goesOn(lines []string, cut bool) []string {
	if cut {
		return append(lines, "(cut; the text continues)")
	}
	return lines
}

func callerWords(by, via string) string {
	return cmp.Or(display.Spelled(by), "unnamed caller") + display.After(" via ", display.Spelled(via))
}

// FactRows are facts as rows of a table, with their lines wrapped to the terminal. A line wrapped
// by the terminal itself could be taken for a separate row.
func (a *App) FactRows(facts []entry) (rows [][]string) {
	width := display.ScreenOf(a.Stdout, a.Opts.Getenv).Width
	for _, f := range facts {
		var folded []string
		for _, l := range f.Lines {
			for _, part := range display.Text(l).Wrap(max(width-widestLabel, 0), 0) {
				folded = append(folded, part.String())
			}
		}
		rows = append(rows, display.Labelled(f.Name, folded)...)
	}
	return rows
}

// widestLabel is the maximum width of a label of a waiting call, including the gap after it.
const widestLabel = 30
