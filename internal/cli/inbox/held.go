package inbox

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// heldWithin is how many of a run's newest events are searched for what it asked last.
const heldWithin = 50

// held says that a decision on the run's newest question is held, and how to take it back. It is
// empty if none is, or if that can't be read: it only explains why there is nothing to decide.
func (a *app) held(ctx context.Context, c *client.Client, run wire.Run) string {
	if run.Status == "done" {
		return ""
	}
	page, err := c.EventPage(ctx, run.ID, client.EventQuery{Newest: true, Limit: heldWithin})
	if err != nil {
		return ""
	}
	for _, e := range page.Items {
		var asked wire.Pending
		if e.Type != client.EventCallSuspended || e.Decode(&asked) != nil || asked.Kind == "child" {
			continue
		}
		state, err := c.Suspension(ctx, asked.Suspension.ID)
		if err != nil || state.Outcome == nil || state.Outcome.AppliesAt == nil || state.Outcome.Decision == nil {
			return ""
		}
		return fmt.Sprintf("%s has no call to decide: a decision on %s is held until %s; to take it back: %s", run.ID, asked.Suspension.ID,
			display.Clock(*state.Outcome.AppliesAt),
			a.Command("withdraw "+scaffold.ShellWord(asked.Suspension.ID)+" "+scaffold.ShellWord(state.Outcome.Decision.DecisionID)))
	}
	return ""
}
