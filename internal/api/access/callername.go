package access

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// CallerPattern matches a caller as the journal names one, with * for any text.
var CallerPattern = lazyregexp.New(`^([a-z]+:[a-zA-Z0-9*][a-zA-Z0-9._@*+-]{0,254}|hook:[a-z0-9*][a-z0-9_*-]{0,62}/[a-zA-Z0-9._@*+-]{1,128}|intake)$`)

// CheckCaller says why a list of callers cannot have this entry, in words for its author.
func CheckCaller(name string) error {
	role, isRole := strings.CutPrefix(name, RolePrefix)
	switch {
	case isRole && !IsRole(role):
		return fmt.Errorf("there is no role %q; the roles are %s", role, RoleNames())
	case !CallerPattern.MatchString(name):
		return fmt.Errorf("%q is not a caller; write token:NAME, link:NAME, hook:NAME/WHO, intake or role:ROLE, with * for any text in a name", name)
	}
	return nil
}
