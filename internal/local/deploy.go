package local

import (
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// deploy gives every tenant the agents: those that have tokens, those that had some when they
// started runs, and each whose first token comes later.
func (d *data) deploy(ctx context.Context, agents *program.Agents, known *tokens, strict bool) (deployed []agent.Definition, err error) {
	tenants, err := d.tenants(ctx, agents, known)
	if err != nil {
		return nil, err
	}
	if strict {
		deployed, err = agents.Deploy(ctx, tenants...)
	} else {
		deployed, err = agents.Serve(ctx, tenants...)
	}
	if known != nil && known.joined == nil {
		known.joined = agents.Join
	}
	return deployed, err
}

// tenants are those that the agents are for: see [data.deploy].
func (d *data) tenants(ctx context.Context, agents *program.Agents, known *tokens) ([]string, error) {
	before, err := d.db.Tenants(ctx)
	tenants := append(known.tenants(), before...)
	tenants = append(tenants, agents.Home)
	slices.Sort(tenants)
	return slices.Compact(tenants), err
}

// unserved are the tenants that have tokens and may use none of the agents.
func unserved(deployed []agent.Definition, home string, known *tokens) (tenants []string) {
	if known == nil {
		return nil
	}
	for _, tenant := range known.tenants() {
		may := func(d agent.Definition) bool { return d.MayBeUsedBy(tenant, home) }
		if tenant != access.Tenant && tenant != home && !slices.ContainsFunc(deployed, may) {
			tenants = append(tenants, tenant)
		}
	}
	return tenants
}
