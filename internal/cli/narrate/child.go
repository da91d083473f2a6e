package narrate

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// child is the run that a call starts and waits for, in a fact.
type child struct {
	Agent   string `json:"agent"`
	Run     string `json:"child_run_id"`
	Outcome string `json:"outcome"`
	Remote  bool   `json:"remote"`
	peer
}

// peer is what an agent elsewhere says of its task, in a fact.
type peer struct {
	Task     string `json:"task_id"`
	URL      string `json:"url"`
	Attempts int    `json:"attempts"`
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
		how := " starts " + display.Spelled(f.Agent) + " as "
		if f.Remote {
			how = " calls a remote agent, as "
		}
		return []display.Line{{{Style: display.Cyan, Text: display.Spelled(f.Tool)}, {Style: display.AsIs, Text: how},
			{Style: display.Faint, Text: f.Run}, {Style: display.AsIs, Text: rest}}}
	}
	if f.Applied == nil || *f.Applied {
		return nil
	}
	words := "the run of " + display.Spelled(called.tool) + " ended (" + f.Outcome + "), but its call no longer waited"
	return []display.Line{{{Style: display.Yellow, Text: display.OneLine(words)}}}
}

// elsewhere describes the task of a run whose agent runs elsewhere.
func elsewhere(e wire.Event, f fact) []display.Line {
	words, style := "", display.Yellow
	switch {
	case e.Type == "remote.started":
		words = "the remote agent works on the task " + f.Task + display.After(" at ", f.URL)
		return []display.Line{{{Style: display.AsIs, Text: display.Spelled(display.OneLine(words))}}}
	case f.Outcome == events.RemoteSucceeded:
		return []display.Line{{{Style: display.AsIs, Text: "the remote agent returns " + display.Shorten(word(f.Result), longest)}}}
	case f.Outcome == events.RemoteFailed:
		words, style = "the remote agent failed"+display.After(": ", strings.TrimSpace(f.Code+" "+f.Detail)), display.Red
	case f.Outcome == events.RemoteStopped:
		words = "the remote agent stopped, because the run had ended"
	default:
		words = "the run had ended, but the remote agent did not confirm that it stopped; it is not asked again after " + display.Counted(f.Attempts, "attempt")
	}
	return []display.Line{{{Style: style, Text: display.Shorten(display.OneLine(words), longest)}}}
}
