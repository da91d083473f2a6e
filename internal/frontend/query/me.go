package query

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Me is what the caller may do. Its names are for those to add who know them.
func (f *Reader) Me(ctx context.Context, c frontend.Caller) (wire.Me, error) {
	me := wire.Me{By: c.By, Tenant: c.Tenant, TenantName: c.Tenant, Roles: []string{}, Groups: f.GroupsOf(c), Agents: []string{}}
	for _, role := range c.Roles {
		me.Roles = append(me.Roles, string(role))
	}
	if !(access.Principal{Roles: c.Roles}).May(access.Start) {
		return me, nil
	}
	agents, err := f.Startable(ctx, c)
	for _, a := range agents {
		me.Agents = append(me.Agents, a.Name)
	}
	return me, err
}
