package cmdline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Printf prints text for people. The lines are cleaned, because they may quote others.
func (a *App) Printf(format string, args ...any) error {
	return a.Print(display.CleanLines(fmt.Sprintf(format, args...)))
}

// Print prints text that is already clean.
func (a *App) Print(text string) error {
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// Printed prints a report for people. It is cleaned, because it may quote others.
func (a *App) Printed(report func(io.Writer) error) error {
	var b strings.Builder
	if err := report(&b); err != nil {
		return err
	}
	return a.Print(display.CleanLines(b.String()))
}

// PrintJSON prints v as one line. On a terminal, invisible characters are written as escapes.
func (a *App) PrintJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	words := b.String()
	if display.ScreenOf(a.Stdout, a.Opts.Getenv).Terminal {
		words = printable.JSON(strings.TrimSuffix(words, "\n")) + "\n"
	}
	return a.Print(words)
}

// PrintRun prints a run: as JSON, or as a table that ends with the commands that decide its waiting
// calls.
func (a *App) PrintRun(run wire.Run) error {
	if a.JSON {
		return a.PrintJSON(run)
	}
	rows := [][]string{
		{"run", run.ID},
		{"thread", run.ThreadID},
		{"agent", run.Agent},
		{"status", StatusText(run)},
	}
	if run.WaitingOn != "" {
		rows = append(rows, []string{"waiting on", run.WaitingOn + a.waitingWords(run)})
	}
	if run.Detail != "" {
		rows = append(rows, []string{"detail", display.OneLine(run.Detail)})
	}
	if run.Error != nil {
		rows = append(rows, []string{"error", strings.TrimSpace(run.Error.Code + "  " + display.OneLine(run.Error.Detail))})
	}
	rows = append(rows,
		[]string{"steps", fmt.Sprintf("%d in %d activations", run.Steps, run.Activations)},
		[]string{"tokens", fmt.Sprintf("%d in, %d out", run.Usage.InputTokens, run.Usage.OutputTokens) + costWords(run)})
	rows = append(rows, familyRows(run)...)
	rows = append(rows,
		[]string{"created", display.Clock(run.CreatedAt)},
		[]string{"updated", display.Clock(run.UpdatedAt)})
	if text, ok := run.OutputText(); ok {
		rows = append(rows, display.Labelled("output", display.CleanProse(text))...)
	}
	if run.Queued > 0 {
		rows = append(rows, []string{"queued", fmt.Sprintf("%d message(s) for the next run", run.Queued)})
	}
	for _, p := range run.Pending {
		rows = append(rows, a.PendingRows(run.ID, run.Agent, p)...)
	}
	if run.Status != "done" && len(run.Pending) == 0 {
		rows = append(rows, []string{"follow", a.Command("watch " + run.ID)})
	}
	return a.Table(rows)
}

// costWords say what a run has cost, if that is known.
func costWords(run wire.Run) string {
	if run.Cost == nil {
		return ""
	}
	return ", $" + run.Cost.USD
}

// Command is a command line to copy that uses the same server as this one. A password in the URL is
// omitted.
func (a *App) Command(words string) string {
	if a.URL != "" {
		words += " --url " + scaffold.ShellWord(ShownAddress(a.URL))
	}
	if a.AWSIAM { // the variable is set for the next command as well
		words += " --aws-iam"
	}
	return a.Typed() + " " + words
}

// waitingWords say since when a run waits for its model, and when the next attempt is.
func (a *App) waitingWords(run wire.Run) (words string) {
	if since := run.WaitingSince; since != nil {
		words = " since " + display.Clock(*since)
	}
	if next := run.NextAttemptAt; next != nil {
		words += "; next attempt " + display.Clock(*next)
		if left := next.Sub(a.Now()); left > 0 {
			words += ", in " + display.Lasting(left)
		}
	}
	return words
}

// StatusText is the status, with the reason of a finished run, or a note that its model doesn't
// answer.
func StatusText(run wire.Run) string {
	switch {
	case run.Reason == nil && run.Error != nil:
		return run.Error.Code
	case run.Reason == nil && run.WaitingOn != "":
		return run.Status + " (" + cmp.Or(run.Code, "waiting on "+run.WaitingOn) + ")"
	case run.Reason == nil:
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
