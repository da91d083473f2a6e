// Package access says who a caller is and what that caller may do: bearer tokens, of which only
// hashes are kept, each for one tenant and with roles. It neither reads requests nor stores
// anything.
package access

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Tenant is whose things a caller without a token sees, where callers without one are let in.
const Tenant = "default"

// Role is one of the things that a token may be good for.
type Role string

// The roles. Admin may everything that the others may.
const (
	Start  Role = "start"  // start runs, send messages, interrupt, cancel, retry
	Read   Role = "read"   // read everything of the tenant
	Decide Role = "decide" // see what waits, answer it, interrupt, resume, cancel
	// see what waits, make, list and revoke approval links: each hands on the right to answer
	// one call
	Links Role = "link"
	// manage webhooks and see their addresses; see and redrive deliveries
	Webhooks Role = "webhooks"
	Admin    Role = "admin"
)

// Roles are all of them, in the order they are shown.
func Roles() []Role { return []Role{Start, Read, Decide, Links, Webhooks, Admin} }

// IsRole says whether there is a role of that name.
func IsRole(name string) bool { return slices.Contains(Roles(), Role(name)) }

// RoleNames are the roles, as they are shown.
func RoleNames() string { return joinRoles(Roles()) }

// Principal is who sends a request.
type Principal struct {
	Tenant string
	// of the token, as it is kept with what the caller does; empty where no token is needed
	Name  string
	Roles []Role

	// Claims are those of a checked token, as its issuer wrote them; nil for a caller without.
	Claims map[string]string

	// Person: signed in at an identity provider that the server itself asked. The name is one
	// of another sort, so that no account of the provider is taken for a token.
	Person bool

	// Fingerprint is that of the token: another one may have had its name. It is no secret;
	// empty where no token is needed.
	Fingerprint string
}

// Anyone is the caller where no token is needed.
func Anyone() Principal { return Principal{Tenant: Tenant, Roles: []Role{Admin}} }

// By is the caller's name as it is stored with what was done; empty if there is none.
func (p Principal) By() string {
	switch {
	case p.Name == "":
		return ""
	case p.Person:
		return "person:" + p.Name
	}
	return "token:" + p.Name
}

// May says whether the caller has one of the roles.
func (p Principal) May(roles ...Role) bool {
	return slices.ContainsFunc(p.Roles, func(r Role) bool { return r == Admin || slices.Contains(roles, r) })
}

// Hash is what is kept of a token. Tokens are long and random, so that a plain hash is enough.
type Hash [sha256.Size]byte

// HashOf is the hash of a token.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

const hashPrefix = "sha256:"

// fingerprint is enough of a hash to tell tokens apart.
func (h Hash) fingerprint() string { return hex.EncodeToString(h[:6]) }

func parseHash(text string) (h Hash, ok bool) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, hashPrefix))
	ok = strings.HasPrefix(text, hashPrefix) && err == nil && len(raw) == len(h)
	copy(h[:], raw)
	return h, ok
}

// TokenBytes is how many random bytes [NewToken] takes.
const TokenBytes = 32

// NewToken makes a token of [TokenBytes] random bytes. The prefix lets a scanner of leaked secrets
// know it.
func NewToken(random [TokenBytes]byte) string {
	return "dmt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:]))
}

var (
	tenantName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	tokenName  = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9._@-]{0,62}$`)
)

// Check says what is wrong with a principal that a token is to be made for, and what to write
// instead.
func (p Principal) Check() error {
	var wrong []error
	if !tokenName.MatchString(p.Name) {
		wrong = append(wrong, fmt.Errorf("%q is not a valid token name; use up to 63 letters, digits and . _ @ -", p.Name))
	}
	if err := CheckTenant(p.Tenant); err != nil {
		wrong = append(wrong, err)
	}
	if len(p.Roles) == 0 {
		wrong = append(wrong, fmt.Errorf("no role is given; give one or more of %s", RoleNames()))
	}
	for _, r := range p.Roles {
		if !slices.Contains(Roles(), r) {
			wrong = append(wrong, fmt.Errorf("%q is not a role; the roles are %s", r, RoleNames()))
		}
	}
	return errors.Join(wrong...)
}

// CheckTenant says what is wrong with the name of a tenant, and what to write instead.
func CheckTenant(name string) error {
	if !tenantName.MatchString(name) {
		return fmt.Errorf("%q is not a valid tenant; use up to 63 lower-case letters, digits, _ and -", name)
	}
	return nil
}

// ParseTenantName reads TENANT=NAME: what pages call a tenant.
func ParseTenantName(text string) (tenant, name string, err error) {
	tenant, name, ok := strings.Cut(text, "=")
	tenant, name = strings.TrimSpace(tenant), strings.TrimSpace(name)
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q has no tenant; write it as TENANT=NAME", text)
	}
	return tenant, name, CheckTenant(tenant)
}

func joinRoles(roles []Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ",")
}

// ParseRoles reads roles as they are written, with commas. [Principal.Check] says whether there are
// such roles.
func ParseRoles(text string) []Role {
	var roles []Role
	for name := range strings.SplitSeq(text, ",") {
		if name != "" && !slices.Contains(roles, Role(name)) {
			roles = append(roles, Role(name))
		}
	}
	return roles
}
