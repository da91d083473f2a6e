package access

import (
	"errors"
	"fmt"
	"strings"
)

// Desk says what accounts of an identity provider may do in the console. The zero value admits
// none.
type Desk struct {
	Tenant string    // of all accounts, unless TenantClaim names another one
	Rules  DeskRules // give roles to accounts

	// TenantClaim and RolesClaim are those of [Admission]; empty: claims name neither.
	TenantClaim, RolesClaim string
}

// DeskRules give roles to accounts.
type DeskRules []DeskRule

// DeskRule gives roles to the accounts that an entry of a list of callers fits.
type DeskRule struct {
	Entry string // claim:NAME=VALUE
	Roles []Role
}

// ParseDeskRules parses rules of the form claim:NAME=VALUE=ROLE,ROLE, separated by semicolons:
//
//	claim:groups=approvers=decide; claim:email=anna@acme.example=admin
//
// An address counts only if the provider has verified it.
func ParseDeskRules(text string) (rules DeskRules, err error) {
	var wrong []error
	for rule := range strings.SplitSeq(text, ";") {
		if rule = strings.TrimSpace(rule); rule == "" {
			continue
		}
		cut := strings.LastIndex(rule, "=")
		name, value, _ := strings.Cut(strings.TrimPrefix(rule[:max(cut, 0)], ClaimPrefix), "=")
		if !strings.HasPrefix(rule, ClaimPrefix) || name == "" || value == "" {
			wrong = append(wrong, fmt.Errorf("%q is not a rule; write it as claim:NAME=VALUE=ROLE,ROLE", rule))
			continue
		}
		r := DeskRule{rule[:cut], ParseRoles(strings.ReplaceAll(rule[cut+1:], " ", ""))}
		if len(r.Roles) == 0 {
			wrong = append(wrong, fmt.Errorf("%q gives no role; give one or more of %s", rule, RoleNames()))
		}
		for _, role := range r.Roles {
			if !IsRole(string(role)) {
				wrong = append(wrong, fmt.Errorf("%q: %q is not a role; the roles are %s", rule, role, RoleNames()))
			}
		}
		rules = append(rules, r)
	}
	return rules, errors.Join(wrong...)
}

// Admit is who has signed in to the console by these claims. The error is [NotAdmittedError].
func (d Desk) Admit(claims map[string]string) (Principal, error) {
	tenant, roles := d.Tenant, d.roles(claims)
	if d.TenantClaim != "" {
		tenant = claims[d.TenantClaim]
	}
	if CheckTenant(tenant) != nil {
		return notAdmitted("the account has no tenant; let the provider name it in the claim %q", d.TenantClaim)
	}
	if len(roles) == 0 {
		return notAdmitted("no rule gives the account a role in the console")
	}
	p, err := Person(tenant, claims)
	p.Roles = roles
	return p, err
}

func (d Desk) roles(claims map[string]string) (roles []Role) {
	if d.RolesClaim != "" {
		roles = claimedRoles(claims[d.RolesClaim])
	}
	for _, rule := range d.Rules {
		if IsListed(rule.Entry, "", nil, claims) {
			roles = append(roles, rule.Roles...)
		}
	}
	return roles
}
