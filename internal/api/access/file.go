package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Grant is a line of a file of tokens.
type Grant struct {
	Principal
	Hash Hash
}

// Line is the grant as it is written in a file.
func (g Grant) Line() string {
	return fmt.Sprintf("%s %s %s %s", g.Name, g.Tenant, joinRoles(g.Roles), g.Hash)
}

// Keys are the grants of a token file, found by token. The zero value contains none.
type Keys struct {
	grants []Grant
	byHash map[Hash]int
}

// NewKeys makes keys of grants.
func NewKeys(grants ...Grant) Keys {
	k := Keys{grants: slices.Clone(grants), byHash: make(map[Hash]int, len(grants))}
	for i, g := range grants {
		k.grants[i].Fingerprint = g.Hash.fingerprint()
		k.byHash[g.Hash] = i
	}
	return k
}

// Parse reads a file of tokens: a line holds name, tenant, roles and the token's hash; what follows
// # and blank lines are left out. The error is an [ErrLines] and names every wrong line, and what
// to do about it; the keys are then those of the other lines.
func Parse(file string, text []byte) (Keys, error) {
	var grants []Grant
	var wrong []error
	names, hashes := map[string]int{}, map[Hash]int{}
	for n, line := range slices.Collect(strings.Lines(string(text))) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		g, err := parseLine(fields)
		if first, twice := names[g.Name]; err == nil && twice {
			err = fmt.Errorf("the name %q is already used on line %d; give each token a different name", g.Name, first)
		}
		if first, twice := hashes[g.Hash]; err == nil && twice {
			err = fmt.Errorf("the token is the same as on line %d; create a separate one with the command \"tokens add\"", first)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", file, n+1, err))
			continue
		}
		names[g.Name], hashes[g.Hash] = n+1, n+1
		grants = append(grants, g)
	}
	if len(wrong) > 0 {
		return NewKeys(grants...), linesError{errors.Join(wrong...)}
	}
	return NewKeys(grants...), nil
}

// ErrLines says that lines of a file are wrong.
var ErrLines = errors.New("access: the token file has invalid lines")

// linesError is an [ErrLines] that says which.
type linesError struct{ error }

func (linesError) Is(target error) bool { return target == ErrLines }

// parseLine never repeats the line: it may hold a token.
func parseLine(fields []string) (Grant, error) {
	if len(fields) != 4 {
		return Grant{}, errors.New("a line must be NAME TENANT ROLES sha256:HASH; create it with the command \"tokens add NAME\" (don't write the token itself here)")
	}
	hash, ok := parseHash(fields[3])
	if !ok {
		return Grant{}, errors.New("the last word must be sha256: and 64 hexadecimal digits, as the command \"tokens add\" writes it")
	}
	g := Grant{Principal: Principal{Name: fields[0], Tenant: fields[1], Roles: ParseRoles(fields[2])}, Hash: hash}
	return g, g.Check()
}

// Find returns the principal of a token; ok is false if the token is unknown. The lookup uses the
// token's hash, so its duration reveals nothing about the stored tokens.
func (k Keys) Find(token string) (p Principal, ok bool) {
	i, ok := k.byHash[HashOf(token)]
	if !ok {
		return Principal{}, false
	}
	return k.grants[i].Principal, true
}

// Named is the principal whose token has the name; ok is false if there is none.
func (k Keys) Named(name string) (p Principal, ok bool) {
	i := slices.IndexFunc(k.grants, func(g Grant) bool { return g.Name == name })
	if i < 0 {
		return Principal{}, false
	}
	return k.grants[i].Principal, true
}

// Grants are all of them, in the order of the file.
func (k Keys) Grants() []Grant { return slices.Clone(k.grants) }

// Tenants are those that a token is for, sorted.
func (k Keys) Tenants() []string {
	var tenants []string
	for _, g := range k.grants {
		tenants = append(tenants, g.Tenant)
	}
	slices.Sort(tenants)
	return slices.Compact(tenants)
}
