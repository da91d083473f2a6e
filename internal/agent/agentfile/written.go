package agentfile

import (
	"net/url"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// An agent file is copied, stored and shown, so a key that is written into it is none any more. It
// is refused where it can be told: by the header or the parameter it stands in, or by the form that
// well-known keys have. What is refused is not repeated.
var (
	keyHeader = regexp.MustCompile(`(?i)^(authorization|cookie|.*(api-?key|auth-?token|access-?token|subscription-key|functions-key|password|secret))$`)
	keyQuery  = regexp.MustCompile(`(?i)^(.*api[_-]?key|(access|auth)[_-]?token|token|password|(client[_-])?secret)$`)
	keyForm   = regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{16,}|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|` +
		`xox[abeprs]-[A-Za-z0-9-]{10,}|A(KI|SI|BS)A[A-Z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})`)
)

// nameIt says what to do with a key that stands in a file.
const nameIt = "an agent file is stored and shown; write {secret:NAME} in its place, and set the environment variable DORMOUSE_SECRET_NAME"

// written refuses a text in which a key stands as it is. A text that is only partly placeholders
// may be a key's by its form alone.
func (s *source) written(at *yaml.Node, where string, text agent.Template, forKeys bool) {
	plain := len(text) > 0 && len(text.Secrets()) == 0 && len(text.Arguments()) == 0
	if plain && forKeys || keyForm.MatchString(text.Fixed()) {
		s.Refuse(at, "%s holds a secret as it is, and %s", where, nameIt)
	}
	for _, name := range text.Secrets() {
		if short, long := strings.CutPrefix(name, "DORMOUSE_SECRET_"); long {
			s.Refuse(at, "%s names the environment variable; write {secret:%s}: this program puts DORMOUSE_SECRET_ before it", where, short)
		}
	}
}

// writtenIn looks at the query of an address in which nothing is put.
func (s *source) writtenIn(at *yaml.Node, where, address string) {
	u, err := url.Parse(address)
	if err != nil {
		return // it was said already
	}
	found := keyForm.MatchString(address)
	for name, values := range u.Query() {
		found = found || keyQuery.MatchString(name) && values[0] != ""
	}
	if found {
		s.Refuse(at, "%s holds a secret as it is; an agent file is stored and shown; send it in a header, as {secret:NAME}", where)
	}
}
