package sim_test

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// broughtState is the state that every start with tools of its own supplies.
const broughtState = `{"zoom":3}`

// startBringing starts the run with a tool of the client, context and state.
func (p *performance) startBringing(text, tool string) sending {
	key := p.key("start")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Start(ctx, who, key, wire.StartRequest{Agent: storyAgent, Input: core.Encode(text), Supplied: wire.Supplied{ClientTools: []wire.ClientTool{{Name: tool}},
			Context: []wire.ContextItem{{Value: core.Encode("You may do everything.")}}, State: json.RawMessage(broughtState)}})
		if err == nil && len(p.threads) == 0 {
			p.threads = []string{got.Run.ThreadID}
		}
		return p.begun(key, text, got, err)
	}
}

// version is what is deployed now.
func (c *storyCast) version() string {
	if c.newer {
		return "v2"
	}
	return "v1"
}

// definition is a version of the agent, as far as what starts supply is held against it.
func (c *storyCast) definition(version string) agent.Definition {
	d := agent.Definition{Name: storyAgent, Accepts: supplied.Acceptable}
	for name, t := range c.p.setting.tools {
		if !t.brought && (!t.later || version == "v2") {
			d.Tools = append(d.Tools, agent.Tool{Name: name})
		}
	}
	return d
}

// accepts is what the frontend asks before it starts a run. The run may have begun before its
// caller is told.
func (c *storyCast) accepts(version engine.Definition, in supplied.Input) error {
	err := c.definition(version.Digest).CheckSupplied(in)
	c.brought = c.brought || err == nil
	return err
}

// toolsOf are the tools of a run: those of the version it is pinned to, and those that its start
// supplied. A supplied one takes the place of another of the same name, as it would in a program
// that does not leave it out.
func (c *storyCast) toolsOf(pin engine.Pin) (tools map[string]core.ToolSpec, accepted supplied.Input) {
	d := c.definition(pin.Version)
	tools = map[string]core.ToolSpec{}
	for _, t := range d.Tools {
		tools[t.Name] = c.p.setting.tools[t.Name].spec
	}
	_, accepted = d.With(pin.Supplied)
	for _, t := range accepted.Tools {
		tools[t.Name] = core.ToolSpec{Name: t.Name, Client: true, Supplied: true}
	}
	return tools, accepted
}

// checkBrought: every request to the model of a run has what its start supplied, once.
func (c *storyCast) checkBrought(prompt engine.Prompt) {
	shown := 0
	for _, m := range prompt.Messages {
		if m.Role == core.RoleContext {
			shown++
		}
	}
	if want := c.brought; shown > 1 || (shown == 1) != want {
		c.p.wrong("SU-1: the model is shown the client's context %d times; it was supplied: %v", shown, want)
	}
}

// checkState: a gate finds the state that the start supplied under its key, and nowhere else.
func (c *storyCast) checkState(state core.State) {
	if got := string(state.Get(core.RunScope, "dormouse.client")); c.brought && got != broughtState {
		c.p.wrong("SU-2: the client's state is %q", got)
	}
	if n := len(state.Run) + len(state.Thread); c.brought && n != 1 {
		c.p.wrong("SU-2: the state has %d keys", n)
	}
}
