package protocols

import (
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Agents reads deployed agents.
type Agents interface {
	Agent(ctx context.Context, c frontend.Caller, name string) (wire.Agent, error)
}

// supply is what a request supplies for the run that it starts, in the form of its protocol.
type supply interface {
	Empty() bool
	Read(accepts []string) (wire.Supplied, error)
}

// supplied is what the agent accepts of it. Stock clients send all that they have with each
// request, so what the agent doesn't accept is left out, and refuses nothing. So is a tool that the
// agent itself leaves to its client: the agent's author describes that. Any other name of the
// agent's is refused.
func (c chat) supplied(s supply) (wire.Supplied, error) {
	if s.Empty() {
		return wire.Supplied{}, nil
	}
	a, err := c.agents.Agent(c.visit.Context(), c.visit.Caller(), c.agent)
	if isRefusal(err, refusal.CodeAgentNotFound) { // an open run may have the message
		return wire.Supplied{}, nil
	}
	if err != nil {
		return wire.Supplied{}, err
	}
	read, err := s.Read(a.Accepts)
	if err != nil {
		return wire.Supplied{}, refusal.New(refusal.CodeInvalid, "%v", err)
	}
	read.ClientTools = slices.DeleteFunc(read.ClientTools, func(supplied wire.ClientTool) bool {
		return slices.ContainsFunc(a.Tools, func(own wire.Tool) bool { return own.Client && own.Name == supplied.Name })
	})
	return read, nil
}
