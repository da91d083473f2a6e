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

// Names and reasons are of others: each is isolated from its sentence, which keeps its order in any
// script.
func TestAnOutcomeIsolatesTextOfOthers(t *testing.T) {
	const odd = "\u05d0 100"
	o := wire.Outcome{Tool: odd, Agent: odd, State: query.OutcomeAnswered, Decision: &wire.OutcomeDecision{Action: "cancel", By: "token:" + odd, Reason: odd}}
	gone, byLink, late := o, o, o
	gone.State, gone.Decision = "gone", nil
	byLink.Decision = &wire.OutcomeDecision{Action: "resume", By: "link:" + odd, Reason: odd}
	late.State = query.OutcomeTimedOut
	for name, one := range map[string]wire.Outcome{"gone": gone, "denied": o, "by a link": byLink, "too late": late} {
		page := Outcome(one, Undo{}, "", "")
		if n := strings.Count(page, odd); n < 3 || n != strings.Count(page, "<bdi>"+odd+"</bdi>") {
			t.Errorf("%s: it is there %d times, and isolated %d times:\n%s", name, n, strings.Count(page, "<bdi>"+odd+"</bdi>"), page)
		}
	}
}
