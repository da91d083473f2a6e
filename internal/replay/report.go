package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/dormouse-dev/dormouse/internal/recording"
)

// Report is what a replay found.
type Report struct {
	Conversations int            `json:"conversations"`
	Runs          int            `json:"runs"`
	Steps         int            `json:"steps"`
	Calls         int            `json:"calls"`
	Suspensions   int            `json:"suspensions"`
	Decisions     int            `json:"decisions"`
	Operations    int64          `json:"operations"` // of the store and the queue
	Faults        map[string]int `json:"faults"`     // by kind
	Executions    map[int]int    `json:"executions"` // how many idempotency keys were executed how often
	Mismatches    int            `json:"mismatches"`
	First         []string       `json:"first_mismatches,omitempty"`
	Twice         []string       `json:"at_most_once_run_twice,omitempty"`
	Errors        []string       `json:"errors,omitempty"` // of steps, other than a store that did not answer
	Seconds       float64        `json:"seconds"`

	done int
}

// shown is how many mismatches are told one by one.
const shown = 20

func (r *Report) mismatch(c recording.Conversation, what string) {
	r.Mismatches++
	if len(r.First) < shown {
		r.First = append(r.First, fmt.Sprintf("%s (line %d): %s", c.ID, c.Line, what))
	}
}

// OK says whether everything came out as recorded and nothing ran twice that must not.
func (r Report) OK() bool { return r.Mismatches == 0 && len(r.Twice) == 0 }

// Verdict is the report in one line.
func (r Report) Verdict() string {
	return fmt.Sprintf("%d conversations, %d mismatches, %d at-most-once calls run twice", r.Conversations, r.Mismatches, len(r.Twice))
}

// Print writes the report for people.
func (r Report) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name  string
		value any
	}{
		{"conversations", r.Conversations}, {"runs", r.Runs}, {"steps", r.Steps}, {"calls", r.Calls},
		{"suspensions", r.Suspensions}, {"decisions", r.Decisions}, {"store and queue operations", r.Operations},
	} {
		fmt.Fprintf(w, "%s\t%v\n", row.name, row.value)
	}
	total := 0
	for _, n := range r.Faults {
		total += n
	}
	fmt.Fprintf(w, "faults\t%d\n", total)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(w, "  %s\t%d\n", kind, r.Faults[kind])
	}
	for _, times := range slices.Sorted(maps.Keys(r.Executions)) {
		fmt.Fprintf(w, "idempotency keys executed %d x\t%d\n", times, r.Executions[times])
	}
	fmt.Fprintf(w, "at-most-once calls run twice\t%d\n", len(r.Twice))
	fmt.Fprintf(w, "mismatches\t%d\n", r.Mismatches)
	fmt.Fprintf(w, "seconds\t%.1f\n", r.Seconds)
	for _, list := range [][]string{r.First, r.Twice, r.Errors} {
		for _, line := range list {
			fmt.Fprintln(w, line)
		}
	}
	return w.Flush()
}
