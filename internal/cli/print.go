package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dormouse-dev/dormouse/internal/wire"
)

// timeFormat is how plain output shows a time: to the second, in UTC.
const timeFormat = "2006-01-02 15:04:05"

func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// printJSON prints v as one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table prints rows with their columns aligned; the first row is the heading, or just the first row.
func (a *app) table(rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

func (a *app) printRun(run wire.Run) error {
	if a.json {
		return a.printJSON(run)
	}
	rows := [][]string{
		{"run", run.ID},
		{"thread", run.ThreadID},
		{"agent", run.Agent},
		{"status", statusText(run)},
	}
	if run.Detail != "" {
		rows = append(rows, []string{"detail", oneLine(run.Detail)})
	}
	if run.Error != nil {
		rows = append(rows, []string{"error", strings.TrimSpace(run.Error.Code + "  " + oneLine(run.Error.Detail))})
	}
	rows = append(rows,
		[]string{"steps", fmt.Sprintf("%d in %d activations", run.Steps, run.Activations)},
		[]string{"tokens", fmt.Sprintf("%d in, %d out", run.Usage.InputTokens, run.Usage.OutputTokens)},
		[]string{"created", clock(run.CreatedAt)},
		[]string{"updated", clock(run.UpdatedAt)})
	if text, ok := run.OutputText(); ok {
		rows = append(rows, []string{"output", text})
	}
	if run.Queued > 0 {
		rows = append(rows, []string{"queued", fmt.Sprintf("%d message(s) behind this run", run.Queued)})
	}
	for _, p := range run.Pending {
		rows = append(rows, a.pendingRows(run.ID, p)...)
	}
	if run.Status != "done" && len(run.Pending) == 0 {
		rows = append(rows, []string{"follow it", a.command("watch " + run.ID)})
	}
	return a.table(rows)
}

// command is a command line for the person to copy, which reaches the same server as this one.
func (a *app) command(words string) string {
	if a.url != "" {
		words += " --url " + a.url
	}
	return "dormouse " + words
}

// statusText is the status, with the reason of a run that is done.
func statusText(run wire.Run) string {
	if run.Reason == nil {
		return run.Status
	}
	words := *run.Reason
	switch {
	case run.Error != nil:
		words += " " + run.Error.Code
	case run.Code != "":
		words += " " + run.Code
	}
	return run.Status + " (" + words + ")"
}

// pendingRows show a waiting call and how to answer it.
func (a *app) pendingRows(run string, p wire.Pending) [][]string {
	rows := [][]string{{"waits for", awaited(p)}}
	if p.Suspension.Message != "" {
		rows = append(rows, []string{"", oneLine(p.Suspension.Message)})
	}
	if p.Deadline != nil {
		rows = append(rows, []string{"until", clock(*p.Deadline)})
	}
	for _, answer := range a.answers(run, p) {
		rows = append(rows, []string{"  " + answer.means, answer.command})
	}
	return rows
}

// awaited says what a call waits for.
func awaited(p wire.Pending) string {
	what := p.Kind + " of"
	switch p.Kind {
	case "interrupt":
		return "the word to go on"
	case "client":
		what = "the client's result of"
	case "input":
		what = "an answer to"
	case "unknown_outcome":
		what = "word of what became of"
	}
	return fmt.Sprintf("%s %s %s", what, p.Tool, oneLine(string(p.Arguments)))
}

func clock(t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(timeFormat)
}

// oneLine keeps text on one line, so that a table stays one.
func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
