package narrate

import (
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// child is the run that a call starts and waits for, in a fact.
type child struct {
	Agent   string `json:"agent"`
	Run     string `json:"child_run_id"`
	Outcome string `json:"outcome"`
}

// child says which run a call has started, or how that ended if the call doesn't: its result is an
// event of its own.
func (t *Tale) child(e wire.Event, f fact) []display.Line {
	called := t.calls[f.CallID]
	if e.Type == "child.started" {
		rest := ""
		if called.deadline != nil {
			rest = display.UntilDeadline(called.deadline.Time, t.now())
		}
		return []display.Line{{{Style: display.Cyan, Text: display.Spelled(f.Tool)}, {Style: display.AsIs, Text: " starts " + display.Spelled(f.Agent) + " as "},
			{Style: display.Faint, Text: f.Run}, {Style: display.AsIs, Text: rest}}}
	}
	if f.Applied == nil || *f.Applied {
		return nil
	}
	words := "the run of " + display.Spelled(called.tool) + " ended (" + f.Outcome + "), but its call no longer waited"
	return []display.Line{{{Style: display.Yellow, Text: display.OneLine(words)}}}
}
