package console

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

type agentsView struct {
	Agents []agentView
	MayAsk bool // the person may start runs
}

// agentView is an agent, with what it may do in sentences.
type agentView struct {
	wire.Agent
	Tools []toolView
}

// toolView is a tool. Its name and description are its author's, and so is the name of what it
// hands its calls to.
type toolView struct{ Name, Description, May, Repeats, To string }

func (c *Console) agents(w http.ResponseWriter, l look) error {
	page, err := c.Reads.Agents(l.Context(), l.Caller())
	if err != nil {
		return err
	}
	v := agentsView{MayAsk: l.who.May(access.Start)}
	for _, a := range page.Items {
		one := agentView{Agent: a}
		for _, t := range a.Tools {
			one.Tools = append(one.Tools, toolOf(t))
		}
		v.Agents = append(v.Agents, one)
	}
	return c.write(w, l, http.StatusOK, "agents", v)
}

// toolOf says who decides about a call, and what a crash may do to it.
func toolOf(t wire.Tool) toolView {
	v := toolView{Name: t.Name, Description: t.Description, May: say("tool." + t.Permission)}
	if t.Delivery != "" {
		v.Repeats = say("tool." + t.Delivery)
	}
	switch {
	case t.Client:
		v.Repeats = say("tool.client")
	case t.Agent != "":
		v.Repeats, v.To = say("tool.agent"), t.Agent
	case t.A2A != "":
		v.Repeats, v.To = say("tool.remote"), t.A2A
	}
	return v
}
