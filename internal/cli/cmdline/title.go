package cmdline

import (
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// Title is what an ask asks, on one line; "" for the call of any other agent. Only the built-in
// agent has that name, so no other tool can put words in the place of its name.
func Title(agent string, p wire.Pending) string {
	if agent != ask.Agent || len(p.Requests) == 0 {
		return ""
	}
	return display.Spelled(display.OneLine(p.Requests[len(p.Requests)-1].Text))
}

// ToolTitle is the question of the tool's author, with the values of the call, on one line; "" for
// a call that has none.
func ToolTitle(p wire.Pending) string {
	if p.ToolDetails == nil {
		return ""
	}
	parts := make([]title.Part, len(p.ToolDetails.Title))
	for i, part := range p.ToolDetails.Title {
		parts[i] = title.Part(part)
	}
	return title.Line(parts)
}

// AwaitedBy says what a call of an agent waits for: an ask is called by its title, and the tool's
// title follows its name.
func AwaitedBy(agent string, p wire.Pending) string {
	if title := Title(agent, p); title != "" {
		return "approval of: " + title
	}
	if title := ToolTitle(p); title != "" {
		return AwaitedWhat(p) + ": " + title
	}
	return AwaitedWhat(p)
}
