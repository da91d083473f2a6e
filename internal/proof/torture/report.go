package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
)

// shown is how many violations are printed in full.
const shown = 20

// Print writes the violations, at most 20 of them in full and those of different rules first, and
// a line that sums up.
func (r Report) Print(w io.Writer) error {
	for i, v := range varied(r.Violations) {
		if i == shown {
			fmt.Fprintf(w, "... and %d more\n", len(r.Violations)-shown)
			break
		}
		fmt.Fprintln(w, v)
	}
	_, err := fmt.Fprintln(w, r.Line())
	return err
}

// varied puts the first violation of each rule before all others, so that many of one rule don't
// hide the only one of another.
func varied(all []Violation) []Violation {
	var firsts, others []Violation
	seen := map[string]bool{}
	for _, v := range all {
		if seen[v.Rule] {
			others = append(others, v)
			continue
		}
		seen[v.Rule] = true
		firsts = append(firsts, v)
	}
	return append(firsts, others...)
}

// Line sums up.
func (r Report) Line() string {
	verdict := "all there, none twice"
	if !r.Held {
		verdict = thousands(len(r.Violations)) + " violations"
	}
	kills := ""
	if r.Kills > 0 {
		kills = thousands(r.Kills) + " kills, "
	}
	notices := ""
	if r.Notices > 0 {
		notices = ", " + thousands(r.Notices) + " notices arrived"
	}
	children := ""
	if r.Children > 0 {
		children = " and " + thousands(r.Children) + " below them"
	}
	return fmt.Sprintf("%s%s runs%s, %s decisions, %s messages, %s cancels acknowledged%s: %s (%.0f s)", kills,
		thousands(r.Runs), children, thousands(r.Decisions), thousands(r.Messages), thousands(r.Cancels), notices, verdict, r.Seconds)
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
