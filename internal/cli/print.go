package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// timeFormat is how plain output shows a time: to the second, in UTC.
const timeFormat = "2006-01-02 15:04:05Z"

// printf prints text for people: lines that are clean, whoever wrote what stands in them.
func (a *app) printf(format string, args ...any) error {
	return a.print(cleanLines(fmt.Sprintf(format, args...)))
}

// print prints what is clean already.
func (a *app) print(text string) error {
	_, err := io.WriteString(a.stdout, text)
	return err
}

// printed prints a report for people, which may quote anybody.
func (a *app) printed(report func(io.Writer) error) error {
	var b strings.Builder
	if err := report(&b); err != nil {
		return err
	}
	return a.print(cleanLines(b.String()))
}

// printJSON prints v as one line. On a terminal the same value is written so that all of it shows.
func (a *app) printJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	words := b.String()
	if screenOf(a.stdout, a.opts.Getenv).terminal {
		words = printable.JSON(strings.TrimSuffix(words, "\n")) + "\n"
	}
	return a.print(words)
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
	if run.WaitingOn != "" {
		rows = append(rows, []string{"waiting on", run.WaitingOn + a.waitingWords(run)})
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
		rows = append(rows, labelled("output", cleanProse(text))...)
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

// command is a command line for the person to copy, which reaches the same server as this one. A password in the address is left out.
func (a *app) command(words string) string {
	if a.url != "" {
		words += " --url " + scaffold.ShellWord(shownAddress(a.url))
	}
	if a.awsIAM { // the variable is there for the next command as well
		words += " --aws-iam"
	}
	return "dormouse " + words
}

// waitingWords say since when a run waits for its model, and when that is asked again.
func (a *app) waitingWords(run wire.Run) (words string) {
	if since := run.WaitingSince; since != nil {
		words = " since " + clock(*since)
	}
	if next := run.NextAttemptAt; next != nil {
		words += "; next attempt " + clock(*next)
		if left := next.Sub(a.now()); left > 0 {
			words += ", in " + lasting(left)
		}
	}
	return words
}

// statusText is the status, with the reason of a run that is done, or that its model does not answer.
func statusText(run wire.Run) string {
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

// pendingRows show a waiting call, its preview, who wants it, and how to answer it.
func (a *app) pendingRows(run string, p wire.Pending) [][]string {
	rows := [][]string{{"waits for", awaited(p)}}
	if p.Suspension.Message != "" {
		rows = append(rows, labelled("", spelledLines(p.Suspension.Message))...)
	}
	if p.Deadline != nil {
		rows = append(rows, []string{"until", clock(*p.Deadline) + untilDeadline(p.Deadline.Time, a.now())})
	}
	if !plainly(p.Arguments) {
		label := "with"
		for _, l := range argumentLines(p.Arguments) {
			rows = append(rows, []string{label, strings.TrimPrefix(l.String(), "  ")})
			label = ""
		}
	}
	rows = append(rows, a.factRows(append(preview(p), background(p)...))...)
	if p.GrantScope != "" {
		rows = append(rows, a.factRows([]entry{{"--grant run", []string{spelled(p.GrantScope)}}})...)
	}
	for _, answer := range a.answers(run, p) {
		rows = append(rows, []string{"  " + answer.means, answer.command})
	}
	return rows
}

// awaited says what a call waits for, with its arguments if they are plain; others take lines of their own.
func awaited(p wire.Pending) string {
	if p.Kind == "interrupt" || !plainly(p.Arguments) {
		return awaitedWhat(p)
	}
	return awaitedWhat(p) + " " + cleanJSON(p.Arguments)
}

// plainly says whether arguments can be shown as JSON on one line: a reader can miss nothing about them, and no letter takes an escape.
func plainly(arguments json.RawMessage) bool {
	return len(arguments) == 0 || printable.Harmless(arguments) && !strings.Contains(cleanJSON(arguments), `\u`)
}

// labelled are rows with a label before the first.
func labelled(label string, lines []string) (rows [][]string) {
	for _, l := range lines {
		rows = append(rows, []string{label, l})
		label = ""
	}
	return rows
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

// age is how long ago t was, for a person; "" if that is not known.
func age(t wire.Time, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return lasting(max(now.Sub(t.Time), 0))
}
