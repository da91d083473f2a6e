package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Admission maps a caller whom an authorizer has already authenticated to a tenant and roles. The
// authorizer checks the token or the signature; the admission only reads the result.
type Admission struct {
	TenantClaim string // the claim of a JWT that names the tenant
	RolesClaim  string // the claim that names the roles
	Tenant      string // of callers who sign with IAM: all of one account's are let in for it

	// IAMRoles are the roles of callers who sign with IAM. A caller whom no rule names has
	// [Read] alone.
	IAMRoles IAMRoles
}

// NotAdmittedError reports an authenticated caller that has no tenant or role. Its text is for the
// operator who configures the authorizer and contains no token.
type NotAdmittedError struct{ Why string }

func (e NotAdmittedError) Error() string { return "access: " + e.Why }

// JWT is who the claims of a checked token speak of. Roles that are not ours are passed over, since
// groups of an identity provider are for other programs too.
func (a Admission) JWT(claims map[string]string) (Principal, error) {
	subject := claims["sub"]
	if subject == "" {
		subject = claims["client_id"] // of a program that has a token of its own
	}
	tenant := claims[a.TenantClaim]
	roles := claimedRoles(claims[a.RolesClaim])
	switch {
	case subject == "":
		return notAdmitted("the token has no claim sub or client_id to identify the caller; let the issuer add one")
	case tenant == "":
		return notAdmitted("the token has no claim %q to name the tenant; let the issuer add it, or set the stack's parameter TenantClaim",
			a.TenantClaim)
	case CheckTenant(tenant) != nil:
		return notAdmitted("the token's claim %q is not a valid tenant; it must be up to 63 lower-case letters, digits, _ and -", a.TenantClaim)
	case len(roles) == 0:
		return notAdmitted("the token's claim %q has none of the roles %s; let the issuer add one, or set the stack's parameter RolesClaim. "+
			"If the claim also holds other words, write a role as %sread", a.RolesClaim, RoleNames(), rolePrefix)
	}
	return Principal{Tenant: tenant, Roles: roles, Name: nameFor(subject, subject), Claims: claims,
		Fingerprint: digestOf(claims["iss"] + "\x00" + subject)}, nil
}

// IAM is who signed a request with the credentials of an AWS account. IAM's policies say who may
// call which route; what a caller may do there is for the operator's rules to say. It fails closed:
// a caller whom no rule names may read what the policy lets it reach, and nothing else.
func (a Admission) IAM(arn string) (Principal, error) {
	if arn == "" {
		return notAdmitted("the gateway passed no IAM identity; configure the route with the authorizer AWS_IAM")
	}
	if err := CheckTenant(a.Tenant); err != nil {
		return notAdmitted("the stack has no tenant for callers who sign with IAM; set its parameter Tenant")
	}
	name := nameFor(arn[strings.LastIndex(arn, ":")+1:], arn)
	return Principal{Tenant: a.Tenant, Roles: a.IAMRoles.of(arn), Name: name, Fingerprint: digestOf("\x00" + arn)}, nil
}

func notAdmitted(format string, args ...any) (Principal, error) {
	return Principal{}, NotAdmittedError{fmt.Sprintf(format, args...)}
}

// rolePrefix marks a word of a claim as a role of ours beyond doubt.
const rolePrefix = "dormouse:"

// claimedRoles are the roles that a claim names: as a list in JSON, as words with blanks or commas
// between them, or as "[read decide]", which is what API Gateway makes of a list. There it does not
// show where an element ends: "[site admin]" may be one group. So words that are roles count only
// where all are; among others, only those that say dormouse: in front, which no group does by
// chance.
func claimedRoles(claim string) (roles []Role) {
	var words []string
	if json.Unmarshal([]byte(claim), &words) != nil {
		words = strings.FieldsFunc(strings.TrimSuffix(strings.TrimPrefix(claim, "["), "]"), func(c rune) bool { return c == ' ' || c == ',' || c == '\t' })
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(Roles(), Role(strings.TrimPrefix(w, rolePrefix))) }) {
			for i, w := range words {
				words[i] = rolePrefix + strings.TrimPrefix(w, rolePrefix)
			}
		}
		words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, rolePrefix) })
	}
	for _, word := range words {
		if r := Role(strings.TrimPrefix(word, rolePrefix)); slices.Contains(Roles(), r) && !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles
}

// endsInDigest matches a name that ends like one that nameFor changed.
var endsInDigest = lazyregexp.New(`-[0-9a-f]{8}$`)

// digestLength is the length of the digest at the end of a name.
const digestLength = 8

// nameFor turns text into a valid token name. If that changes the text, the name ends with a digest
// of the original, so that two callers never get the same name.
func nameFor(text, of string) string {
	if tokenName.MatchString(text) && text == of && !endsInDigest.MatchString(text) {
		return text
	}
	kept := strings.Map(func(c rune) rune {
		if c < 128 && tokenName.MatchString("a"+string(c)) {
			return c
		}
		return '-'
	}, text)
	kept = strings.TrimLeft(kept, "._@-")
	if kept == "" {
		kept = "caller"
	}
	const longest = 63 - 1 - digestLength
	return kept[:min(len(kept), longest)] + "-" + digestOf(of)[:digestLength]
}

// digestOf is as long as the fingerprint of a token.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
