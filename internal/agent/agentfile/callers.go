package agentfile

import (
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// callers reads who may use the agent, and what their requests may bring along.
func (s *source) callers(o *object, d *agent.Definition) {
	d.Tenants = s.someNames(o, "tenants", "the tenant that deploys the agent")
	for _, tenant := range d.Tenants {
		if err := access.CheckTenant(tenant); tenant != agent.AllTenants && err != nil {
			s.Refuse(o.Member("tenants"), "%v, or '*' for every tenant", err)
		}
	}
	d.Starters, d.Approvers = s.callerNames(o, "starters"), s.callerNames(o, "approvers")
	d.Accepts = s.someNames(o, "accepts", "an agent that accepts none of them")
	for i, member := range d.Accepts {
		if !slices.Contains(supplied.Acceptable, member) {
			s.Refuse(o.Member("accepts").Content[i], "accepts: %q is not known; it is %s", member, strings.Join(supplied.Acceptable, ", "))
		}
	}
}

// someNames reads names and refuses an empty list: it reads like "no one", while a missing list
// means absent.
func (s *source) someNames(o *object, member, absent string) []string {
	names := s.names(o, member)
	if n := o.Member(member); n != nil && len(names) == 0 {
		s.Refuse(n, "%s is an empty list; name at least one, or remove it for %s", member, absent)
	}
	return names
}

func (s *source) callerNames(o *object, member string) []string {
	names := s.someNames(o, member, "every caller with the role")
	for _, name := range names {
		s.checkCaller(o, member, name)
	}
	return names
}

func (s *source) checkCaller(o *object, member, name string) {
	if err := access.CheckCaller(name); err != nil {
		s.Refuse(o.Member(member), "%s: %v", member, err)
	}
}
