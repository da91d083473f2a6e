package cmdline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// answer is one way to decide a waiting call.
type answer struct{ means, Command string }

// Answers are the commands that decide a waiting call. They depend on its kind. After a withdrawal
// they have a new decision id, because the same answer would get that of the withdrawn one.
func (a *App) Answers(run string, p wire.Pending) []answer {
	base := a.Command("decide "+run+" "+p.Suspension.ID) + anotherID(p.Suspension.Withdrawn)
	switch {
	case p.Kind == "interrupt":
		run = AskerRun(run, p)
		return []answer{{"resume", a.Command("resume " + run)}, {"cancel", a.Command("runs cancel " + run)}}
	case TakesResult(p):
		return []answer{{"result", base + " --result JSON"}, {"deny", base + " --deny --reason TEXT"}}
	case p.Kind == "approval":
		return []answer{{"approve", base + " --approve"}, {"deny", base + " --deny --reason TEXT"}}
	case p.Kind == "unknown_outcome":
		return []answer{
			{"it happened", base + " --result JSON"},
			{"it failed", base + " --error TEXT"},
			{"it did not happen, run it", base + " --approve"},
			{"don't run it", base + " --deny"},
		}
	}
	return []answer{
		{"result", base + " --result JSON"},
		{"failure", base + " --error TEXT"},
		{"cancel", base + " --deny --reason TEXT"},
	}
}

// anotherID is the flag for a decision after some were withdrawn; empty if none was.
func anotherID(withdrawn []string) string {
	if len(withdrawn) == 0 {
		return ""
	}
	n := len(withdrawn)
	for slices.Contains(withdrawn, fmt.Sprintf("again-%d", n)) {
		n++
	}
	return fmt.Sprintf(" --id again-%d", n)
}

// PendingRows show a waiting call, its preview, who requested it, and how to decide it.
func (a *App) PendingRows(run, agent string, p wire.Pending) [][]string {
	path := PathRows(agent, p)
	agent = Asker(agent, p)
	inline := Title(agent, p) == "" && ToolTitle(p) == "" && plainly(p.Arguments)
	rows := [][]string{{"waits for", awaited(agent, p, inline)}}
	if p.Suspension.Message != "" {
		rows = append(rows, display.Labelled("", display.SpelledLines(p.Suspension.Message))...)
	}
	rows = append(rows, path...)
	if p.Deadline != nil {
		rows = append(rows, []string{"until", display.Clock(*p.Deadline) + display.UntilDeadline(p.Deadline.Time, a.Now())})
	}
	if !inline && !AsksToGoOn(p) {
		label := "with"
		for _, l := range display.ArgumentLines(p.Arguments) {
			rows = append(rows, []string{label, strings.TrimPrefix(l.String(), "  ")})
			label = ""
		}
	}
	rows = append(rows, a.FactRows(append(Preview(p), Background(p)...))...)
	if p.GrantScope != "" {
		rows = append(rows, a.FactRows([]entry{{"--grant run", []string{display.Spelled(p.GrantScope)}}})...)
	}
	for _, answer := range a.Answers(run, p) {
		rows = append(rows, []string{"  " + answer.means, answer.Command})
	}
	return rows
}

// awaited says what a call waits for, with its arguments if they are inline. Others get separate
// lines: what is behind a title could be taken for a part of it.
func awaited(agent string, p wire.Pending, inline bool) string {
	if p.Kind == "interrupt" || AsksToGoOn(p) || !inline {
		return AwaitedBy(agent, p)
	}
	return AwaitedWhat(p) + " " + display.CleanJSON(p.Arguments)
}

// plainly reports whether arguments can be shown as JSON on one line: nothing in them is easily
// missed, and no character needs an escape.
func plainly(arguments json.RawMessage) bool {
	return len(arguments) == 0 || printable.Harmless(arguments) && !strings.Contains(display.CleanJSON(arguments), `\u`)
}
