package agentfile

import (
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// callers reads who may use the agent.
func (s *source) callers(o *object, d *agent.Definition) {
	d.Tenants = s.someNames(o, "tenants", "the tenant that deploys the agent")
	for _, tenant := range d.Tenants {
		if err := access.CheckTenant(tenant); tenant != agent.AllTenants && err != nil {
			s.Refuse(o.Member("tenants"), "%v, or '*' for every tenant", err)
		}
	}
	d.Starters, d.Approvers = s.callerNames(o, "starters"), s.callerNames(o, "approvers")
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

// callerPattern is a caller as the journal names one, with * for any text.
var callerPattern = regexp.MustCompile(`^([a-z]+:[a-zA-Z0-9*][a-zA-Z0-9._@*+-]{0,254}|hook:[a-z0-9*][a-z0-9_*-]{0,62}/[a-zA-Z0-9._@*+-]{1,128}|intake)$`)

func (s *source) checkCaller(o *object, member, name string) {
	role, isRole := strings.CutPrefix(name, access.RolePrefix)
	switch {
	case isRole && !access.IsRole(role):
		s.Refuse(o.Member(member), "%s: there is no role %q; the roles are %s", member, role, access.RoleNames())
	case !callerPattern.MatchString(name):
		s.Refuse(o.Member(member), "%s: %q is not a caller; write token:NAME, link:NAME, hook:NAME/WHO, intake or role:ROLE, with * for any text in a name", member, name)
	}
}
