package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Describe returns a stored definition in the form of the API.
func (a *Agents) Describe(stored engine.Definition) (wire.Agent, error) {
	d, err := agent.Decode(stored.Body)
	if err != nil {
		return wire.Agent{}, err
	}
	rules, err := d.Rules(a.Tools.Specs(), agent.Layers{})
	if err != nil {
		return wire.Agent{}, err
	}
	shown := wire.Agent{Name: d.Name, Version: stored.Digest, Description: d.Description, Model: d.Model.Label(),
		Instructions: d.Instructions, Tools: []wire.Tool{}, Accepts: d.Accepts}
	for _, t := range d.Tools {
		spec, _ := rules.Tool(t.Name)
		made := wire.Tool{Name: t.Name, Description: spec.Description, Parameters: spec.Parameters, Result: spec.Result,
			Delivery: spec.Delivery.String(), Client: spec.Client, Permission: d.Permission(t.Name)}
		switch {
		case t.Agent == nil:
		case t.Agent.A2A != nil:
			made.A2A = t.Agent.A2A.Host()
		default: // a call starts one run, whatever happens
			made.Agent, made.Delivery = t.Agent.Name, ""
		}
		shown.Tools = append(shown.Tools, made)
	}
	return shown, nil
}

// Check says, in words for the caller, why a run's call must not run with these arguments: they do
// not match the schema of the tool, or a rule forbids them. It returns [engine.ErrUnavailable] if
// that cannot be determined now. notBy says whom the rules that require approval for these
// arguments bar from approving. The call is checked again before it runs, because the rules may
// have changed.
func (a *Agents) Check(ctx context.Context, pin engine.Pin, call core.ToolCall) (notBy string, err error) {
	pinned, err := a.Load(ctx, pin)
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		return "", err
	case errors.As(err, new(*engine.AgentUnavailableError)):
		return "", fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	case err != nil:
		return "", errors.New("the version of the agent that this run started with is no longer available")
	}
	if _, ok := pinned.Rules.Tool(call.Name); !ok {
		return "", errors.New("the tool no longer exists")
	}
	if err := pinned.Rules.Check(call); err != nil {
		return "", err
	}
	v := pinned.Rules.Gate(call, core.State{})
	if v.Effect == core.Deny || v.Effect == core.Block {
		return "", errors.New("a rule forbids the call with these arguments: " + v.Reason)
	}
	return v.NotBy, nil
}

// Narrow says, in words for the caller, why a value is not valid as the permissions of a run.
func (a *Agents) Narrow(raw json.RawMessage) error {
	_, err := agentfile.ParseNarrow(raw)
	return err
}

// Accepts says, in words for the caller, why a run of a version can't start with what was supplied.
func (a *Agents) Accepts(version engine.Definition, given supplied.Input) error {
	d, err := agent.Decode(version.Body)
	if err != nil {
		return err
	}
	return d.CheckSupplied(given)
}
