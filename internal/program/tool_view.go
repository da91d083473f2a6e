package program

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Tool shows an approver what a tool does and where its calls go, in the version that the run is
// pinned to. A page of the inbox asks for each of its entries, so versions that were read are cached.
func (a *Agents) Tool(ctx context.Context, tenant string, r core.Record, tool string) (wire.ToolDetails, error) {
	shown, err := a.toolViews(ctx, tenant, r)
	if err != nil {
		return wire.ToolDetails{}, err
	}
	details, ok := shown[tool]
	if !ok {
		return details, fmt.Errorf("program: version %s of agent %s has no tool %s", r.Version, r.Agent, tool)
	}
	return details, nil
}

// viewed is a version as one tenant stored it.
type viewed struct{ tenant, name, version string }

func (a *Agents) toolViews(ctx context.Context, tenant string, r core.Record) (map[string]wire.ToolDetails, error) {
	key := viewed{tenant, r.Agent, r.Version}
	a.mu.Lock()
	known, ok := a.viewed[key]
	a.mu.Unlock()
	if ok {
		return known, nil
	}
	stored, err := a.stored.Definition(ctx, tenant, r.Agent, r.Version)
	if err != nil {
		return nil, err
	}
	d, err := agent.Decode(stored.Body)
	if err != nil {
		return nil, err
	}
	functions := a.Tools.Specs()
	shown := map[string]wire.ToolDetails{}
	for _, t := range d.Tools {
		details := wire.ToolDetails{Description: t.Description}
		if details.Description == "" {
			details.Description = functions[t.Go].Description
		}
		details.Kind, details.Target, _ = d.Reach(t.Name)
		shown[t.Name] = details
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.viewed) >= mostKnown {
		clear(a.viewed)
	}
	a.viewed[key] = shown
	return shown, nil
}
