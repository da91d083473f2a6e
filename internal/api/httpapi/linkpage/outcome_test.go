package linkpage

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// TestEveryPageHasAMain: the style gives main its width and its padding. Text outside of it touches
// the edge of a phone.
func TestEveryPageHasAMain(t *testing.T) {
	pages := map[string]string{
		"refused":  Refused("This link has expired", "the link has expired", ""),
		"accepted": Answered(wire.Decision{Action: "resume"}, wire.DecisionAnswer{Code: string(refusal.CodeAccepted)}),
		"repeated": Answered(wire.Decision{Action: "resume"}, wire.DecisionAnswer{Code: string(refusal.CodeAlreadyDecided)}),
		"gone":     Outcome(wire.Outcome{Tool: "pay"}, Undo{}, "Your answer was not used.", ""),
		"late":     Outcome(wire.Outcome{Tool: "pay", State: query.OutcomeTimedOut}, Undo{}, "", ""),
		"answered": Outcome(wire.Outcome{Tool: "pay", State: query.OutcomeAnswered, Decision: &wire.OutcomeDecision{Action: "cancel"}}, Undo{}, "", ""),
	}
	for name, page := range pages {
		if body := strings.TrimSpace(page); !strings.HasPrefix(body, "<main>") || !strings.HasSuffix(body, "</main>") {
			t.Errorf("%s: %s", name, page)
		}
	}
}
