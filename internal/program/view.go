package program

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// view is what the API needs of a stored version, without the model and the bodies. Versions never
// change, so views are cached: a page of the inbox needs one for each entry, and a message to a run
// needs its starters.
type view struct {
	tools    map[string]wire.ToolDetails
	starters []string

	dayBudget core.USD
}

// mostSchema is how large a schema may be that is shown with each question.
const mostSchema = 16 << 10

// viewed is the version of an agent that a tenant stored.
type viewed struct{ tenant, name, version string }

// Tool describes a tool for an approver: what it does and where its calls go, in the version that
// the run is pinned to. Its title has no values yet.
func (a *Agents) Tool(ctx context.Context, tenant string, r core.Record, tool string) (wire.ToolDetails, error) {
	v, err := a.view(ctx, engine.Definition{Tenant: tenant, Name: r.Agent, Digest: r.Version})
	if err != nil {
		return wire.ToolDetails{}, err
	}
	details, ok := v.tools[tool]
	if !ok && r.Supplied != "" { // a call of a tool that nothing defines waits for no one
		return wire.ToolDetails{Kind: agent.KindClient, Description: agent.BySender}, nil
	}
	if !ok {
		return details, fmt.Errorf("program: version %s of agent %s has no tool %s", r.Version, r.Agent, tool)
	}
	return details, nil
}

// Starters returns the callers who may start runs of a stored version and send them messages; none
// means every caller with the role. A version without a body is read from the store, which returns
// [engine.ErrNotFound] if it does not exist.
func (a *Agents) Starters(ctx context.Context, version engine.Definition) ([]string, error) {
	v, err := a.view(ctx, version)
	return v.starters, err
}

// DayBudget returns what the runs of a stored version may cost that start on one day; 0 is no
// limit. The version is read as by [Agents.Starters].
func (a *Agents) DayBudget(ctx context.Context, version engine.Definition) (core.USD, error) {
	v, err := a.view(ctx, version)
	return v.dayBudget, err
}

func (a *Agents) view(ctx context.Context, version engine.Definition) (view, error) {
	key := viewed{version.Tenant, version.Name, version.Digest}
	a.mu.Lock()
	known, ok := a.viewed[key]
	a.mu.Unlock()
	if ok {
		return known, nil
	}
	if len(version.Body) == 0 {
		var err error
		if version, err = a.stored.Definition(ctx, version.Tenant, version.Name, version.Digest); err != nil {
			return view{}, err
		}
	}
	d, err := agent.Decode(version.Body)
	if err != nil {
		return view{}, err
	}
	functions := a.Tools.Specs()
	made := view{tools: map[string]wire.ToolDetails{}, starters: d.Starters, dayBudget: d.Budget.Cost.Day}
	for _, t := range d.Tools {
		details := wire.ToolDetails{Description: t.Description}
		for _, part := range title.Parts(t.Title) {
			details.Title = append(details.Title, wire.TitlePart(part))
		}
		if details.Description == "" {
			details.Description = functions[t.Go].Description
		}
		if details.Parameters = t.Parameters; t.Go != "" {
			details.Parameters = functions[t.Go].Parameters
		}
		if len(details.Parameters) > mostSchema {
			details.Parameters = nil
		}
		details.Kind, details.Target, _ = d.Reach(t.Name)
		made.tools[t.Name] = details
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.viewed) >= mostKnown {
		clear(a.viewed)
	}
	a.viewed[key] = made
	return made, nil
}
