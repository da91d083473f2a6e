package cmdline

import (
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
)

// Title is what an ask asks, on one line; "" for the call of any other agent. Only the built-in
// agent has that name, so no other tool can put words in the place of its name.
func Title(agent string, p wire.Pending) string {
	if agent != ask.Agent || len(p.Requests) == 0 {
		return ""
	}
	return display.Spelled(display.OneLine(p.Requests[len(p.Requests)-1].Text))
}

// AwaitedBy says what a call of an agent waits for: an ask is called by its title.
func AwaitedBy(agent string, p wire.Pending) string {
	if title := Title(agent, p); title != "" {
		return "approval of: " + title
	}
	return AwaitedWhat(p)
}
