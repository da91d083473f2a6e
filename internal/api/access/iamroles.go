package access

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// IAMRoles are an operator's rules about callers who sign with IAM. The zero value has none.
type IAMRoles []IAMRule

// IAMRule gives roles to the callers whose ARN the pattern matches.
type IAMRule struct {
	Pattern string // * matches any characters but a slash
	Roles   []Role
}

// iamARN is a pattern for the ARNs of users, roles and the root of one account. The account is
// written out: a wildcard there would let in the same name of every account.
var iamARN = lazyregexp.New(`^arn:[a-z0-9-]+:(iam|sts)::[0-9]{12}:(root|(user|assumed-role|federated-user)/[A-Za-z0-9_+=,.@*/-]+)$`)

// ParseIAMRoles parses rules of the form PATTERN=ROLE,ROLE, separated by semicolons. A pattern is a
// caller's ARN as the authorizer reports it; * matches any characters but a slash:
//
//	arn:aws:sts::123456789012:assumed-role/approver/*=decide,read
//	arn:aws:iam::123456789012:user/ann=admin
func ParseIAMRoles(text string) (IAMRoles, error) {
	var all IAMRoles
	var wrong []error
	for rule := range strings.SplitSeq(text, ";") {
		if rule = strings.TrimSpace(rule); rule == "" {
			continue
		}
		r, err := parseIAMRule(rule)
		if err != nil {
			wrong = append(wrong, err)
		}
		all = append(all, r)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return all, nil
}

// parseIAMRule cuts at the last =, since the name of a session may hold one and a role may not.
func parseIAMRule(rule string) (IAMRule, error) {
	cut := strings.LastIndex(rule, "=")
	if cut < 0 {
		return IAMRule{}, fmt.Errorf("%q has no roles; write it as ARN=ROLE,ROLE", rule)
	}
	pattern, roles := strings.TrimSpace(rule[:cut]), ParseRoles(strings.ReplaceAll(rule[cut+1:], " ", ""))
	if !iamARN.MatchString(pattern) {
		return IAMRule{}, fmt.Errorf("%q is not the ARN of a role session or a user; write arn:aws:sts::ACCOUNT:assumed-role/ROLE/* or arn:aws:iam::ACCOUNT:user/NAME, with the full account number", pattern)
	}
	if len(roles) == 0 {
		return IAMRule{}, fmt.Errorf("%q has no roles; give one or more of %s", pattern, RoleNames())
	}
	for _, r := range roles {
		if !slices.Contains(Roles(), r) {
			return IAMRule{}, fmt.Errorf("%q: %q is not a role; the roles are %s", pattern, r, RoleNames())
		}
	}
	return IAMRule{pattern, roles}, nil
}

// of are the roles of a caller: those of every rule that names it.
func (i IAMRoles) of(arn string) []Role {
	var roles []Role
	for _, rule := range i {
		// of what path.Match knows, iamARN lets * through and nothing else
		if is, _ := path.Match(rule.Pattern, arn); is {
			roles = append(roles, rule.Roles...)
		}
	}
	if len(roles) == 0 {
		return []Role{Read}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}
