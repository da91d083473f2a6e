package suites

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/lambda"
)

// Report is what was proved and what was not.
type Report struct {
	Suites int `json:"suites"`
	Checks int `json:"checks"`
	Failed int `json:"failed"`
	lambda.Counts
	Faults     Faulted   `json:"faults,omitzero"`
	Recordings int       `json:"recordings"`
	Mismatches int       `json:"mismatches"`
	Failures   []Failure `json:"failures,omitempty"`
	Seed       uint64    `json:"seed"`
	DynamoDB   string    `json:"dynamodb"`
	SQS        string    `json:"sqs"`
	Seconds    float64   `json:"seconds"`
}

// Failure is a check that failed.
type Failure struct {
	Suite string `json:"suite"`
	Check string `json:"check"`
	Why   string `json:"why"`
}

// count adds what a stand-in for Lambda has done.
func (r *Report) count(c lambda.Counts) {
	r.Invocations += c.Invocations
	r.ColdStarts += c.ColdStarts
	r.Kills += c.Kills
	r.Timeouts += c.Timeouts
	r.Counts.Failures += c.Failures
}

// Print writes the failures, with what is needed to repeat them, and the counts in one last line;
// or all of it as JSON.
func (r Report) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var text strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&text, "FAILED: %s: %s\n  %s\n", f.Suite, f.Check, strings.ReplaceAll(strings.TrimSpace(f.Why), "\n", "\n  "))
	}
	if r.Failed > 0 {
		fmt.Fprintf(&text, "the same again, as far as the operating system lets it: --seed %d --dynamodb %s --sqs %s\n", r.Seed, r.DynamoDB, r.SQS)
	}
	if n := r.Faults; n.Calls > 0 {
		fmt.Fprintf(&text, "faults: of %d calls %d were throttled, %d batches handled in part, %d answers lost; %d messages doubled\n",
			n.Calls, n.Throttled, n.Partial, n.Lost, n.Doubled)
	}
	fmt.Fprintf(&text, "%d passed, %d failed\n", r.Checks-r.Failed, r.Failed)
	fmt.Fprintf(&text, "e2e: %d suites, %d checks, %d failed; %d invocations, %d cold starts, %d kills, %d recordings, %d mismatches; %s and %s, %.0fs\n",
		r.Suites, r.Checks, r.Failed, r.Invocations, r.ColdStarts, r.Kills, r.Recordings, r.Mismatches, r.DynamoDB, r.SQS, r.Seconds)
	_, err := io.WriteString(w, text.String())
	return err
}

// book takes down what a suite finds.
type book struct {
	suite    string
	report   *Report
	progress io.Writer
	mu       sync.Mutex
}

// check notes one thing that holds, if there is no error, or does not. It says which.
func (b *book) check(what string, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report.Checks++
	if err == nil {
		fmt.Fprintf(b.progress, "   ok  %s\n", what)
		return true
	}
	b.report.Failed++
	b.report.Failures = append(b.report.Failures, Failure{Suite: b.suite, Check: what, Why: err.Error()})
	fmt.Fprintf(b.progress, "   FAILED  %s: %v\n", what, err)
	return false
}

// say tells of something that is no check.
func (b *book) say(format string, args ...any) { fmt.Fprintf(b.progress, "   "+format+"\n", args...) }
