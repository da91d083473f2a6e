package narrate

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// tally is how far several people have come with a decision, by one vote of them.
func tally(b client.Ballot, action string) string {
	if b.Outcome == string(vote.OutcomeSuperseded) {
		return "no effect: the question was closed first"
	}
	words := fmt.Sprintf("vote %d of %d", b.Yes, b.Need)
	if action != core.ActionResume.String() {
		words = fmt.Sprintf("%d of %d approved, %d denied", b.Yes, b.Need, b.No)
	}
	if b.Stages > 1 {
		words += fmt.Sprintf(", stage %d of %d", b.Stage, b.Stages)
	}
	return words
}

// refused tells that a caller tried to decide who may not.
func refused(f fact) []display.Line {
	return []display.Line{{{Style: display.Yellow, Text: "a decision" + by(display.Spelled(f.By)) + " was refused: " + display.OneLine(f.Code)}}}
}

func withdrawn(f fact) []display.Line {
	return []display.Line{{{Style: display.Yellow, Text: "a decision" + by(display.Spelled(f.By)) + " was withdrawn"}}}
}

// whose says who made a decision or tried to, and what a vote came to.
func whose(members map[string]json.RawMessage) (words []string) {
	if string(members["timed_out"]) != "true" {
		if who := word(members["by"]); who != "" {
			words = append(words, "by "+who)
		}
	}
	var b *client.Ballot
	if json.Unmarshal(members["vote"], &b) == nil && b != nil {
		words = append(words, tally(*b, word(members["action"])))
	}
	return words
}
