package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/dormouse-dev/dormouse/internal/model/recording"
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
	// that passed a provider's wire, those that failed on it included
	Requests int `json:"model_requests,omitempty"`
	// because the model could not be asked for a while
	PutOff int `json:"steps_put_off,omitempty"`
	// how many idempotency keys were executed how often
	Executions map[int]int `json:"executions"`
	Mismatches int         `json:"mismatches"`
	First      []string    `json:"first_mismatches,omitempty"`
	Twice      []string    `json:"at_most_once_run_twice,omitempty"`
	// of steps, other than a store that did not answer
	Errors  []string `json:"errors,omitempty"`
	Seconds float64  `json:"seconds"`

	Decided

	// A conversation is compared in full if every result is held to the recording. It is
	// compared in part if some calls were edited, denied, timed out or answered in words of the
	// caller's: their results are held to what was decided, all else to the recording.
	InFull int `json:"compared_in_full"`
	InPart int `json:"compared_in_part"`

	// Deviations are gated calls that did not come to what their decision or deadline says,
	// bodies that ran and must not have, and transcripts for the model that were not well
	// formed.
	Deviations     int      `json:"deviations"`
	FirstDeviating []string `json:"first_deviations,omitempty"`

	Remote

	done int
}

// Decided is what was decided about gated calls, if something else than yes was asked for.
type Decided struct {
	Edited   int `json:"edited"`
	Denied   int `json:"denied"`
	TimedOut int `json:"timed_out"`
	Late     int `json:"late_answers"`
	// of them, those that came before the run had noticed its deadline, and counted
	LateInTime int `json:"late_answers_in_time"`
}

// Remote is what only a replay against a target has: the conversations that no agent file can say,
// which were not played and are in no other number; how often something had to be marked to be told
// from something else; what was done to requests; and calls whose process was lost.
type Remote struct {
	Unplayed     []Unplayed     `json:"not_played,omitempty"`
	Marks        int            `json:"marks,omitempty"`
	TargetFaults map[string]int `json:"target_faults,omitempty"`
	Unknown      int            `json:"unknown_outcomes,omitempty"`
}

// shown is how many mismatches are told one by one.
const shown = 20

func (r *Report) mismatch(c recording.Conversation, what string) {
	r.Mismatches++
	if len(r.First) < shown {
		r.First = append(r.First, fmt.Sprintf("%s (line %d): %s", c.ID, c.Line, what))
	}
}

func (r *Report) deviation(format string, args ...any) {
	r.Deviations++
	if len(r.FirstDeviating) < shown {
		r.FirstDeviating = append(r.FirstDeviating, fmt.Sprintf(format, args...))
	}
}

// OK says whether everything came out as recorded and decided, and nothing ran twice that must not.
func (r Report) OK() bool { return r.Mismatches == 0 && len(r.Twice) == 0 && r.Deviations == 0 }

// Verdict is the report in one line.
func (r Report) Verdict() string {
	verdict := fmt.Sprintf("%d conversations, %d mismatches, %d at-most-once calls run twice, %d deviations from what was decided",
		r.Conversations, r.Mismatches, len(r.Twice), r.Deviations)
	if len(r.Unplayed) > 0 {
		verdict += fmt.Sprintf(", %d more not played", len(r.Unplayed))
	}
	return verdict
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
		{"calls edited", r.Edited}, {"calls denied", r.Denied}, {"calls timed out", r.TimedOut}, {"answers after a deadline", r.Late},
		{"  of them before it was noticed", r.LateInTime}, {"conversations compared in full", r.InFull},
		{"conversations compared in part", r.InPart},
	} {
		fmt.Fprintf(w, "%s\t%v\n", row.name, row.value)
	}
	r.printTarget(w)
	if r.Requests > 0 {
		fmt.Fprintf(w, "requests to the model\t%d\n", r.Requests)
		fmt.Fprintf(w, "steps put off until it answers\t%d\n", r.PutOff)
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
	fmt.Fprintf(w, "deviations from what was decided\t%d\n", r.Deviations)
	fmt.Fprintf(w, "mismatches\t%d\n", r.Mismatches)
	fmt.Fprintf(w, "seconds\t%.1f\n", r.Seconds)
	for _, list := range [][]string{r.First, r.FirstDeviating, r.Twice, r.Errors} {
		for _, line := range list {
			fmt.Fprintln(w, line)
		}
	}
	for _, u := range r.Unplayed {
		fmt.Fprintf(w, "not played: %s\n", u)
	}
	return w.Flush()
}

// printTarget writes what only a replay against a target has.
func (r Report) printTarget(w io.Writer) {
	if r.TargetFaults == nil {
		return
	}
	fmt.Fprintf(w, "conversations not played\t%d\n", len(r.Unplayed))
	fmt.Fprintf(w, "marks to tell repeats apart\t%d\n", r.Marks)
	fmt.Fprintf(w, "calls whose process was lost\t%d\n", r.Unknown)
	for _, kind := range slices.Sorted(maps.Keys(r.TargetFaults)) {
		fmt.Fprintf(w, "requests: %s\t%d\n", kind, r.TargetFaults[kind])
	}
}
