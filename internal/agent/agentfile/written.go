package agentfile

import (
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// An agent file is copied, stored and shown, so a key written into it is no longer secret. Keys are
// recognized by their header or parameter, or by the form of well-known keys, and refused. Messages
// do not repeat them.
var (
	keyHeader = lazyregexp.New(`(?i)^(authorization|cookie|.*(api-?key|auth-?token|access-?token|subscription-key|functions-key|password|secret))$`)
	keyQuery  = lazyregexp.New(`(?i)^(.*api[_-]?key|(access|auth)[_-]?token|token|password|(client[_-])?secret)$`)
	keyForm   = lazyregexp.New(`\b(sk-[A-Za-z0-9_-]{16,}|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|` +
		`xox[abeprs]-[A-Za-z0-9-]{10,}|A(KI|SI|BS)A[A-Z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})`)
)

// nameIt says what to write instead of a key.
const nameIt = "agent files are stored and shown; write {secret:NAME} instead, and set the environment variable DORMOUSE_SECRET_NAME"

// written refuses a text with a key in plain text. In a text with placeholders, only the form of
// the fixed parts shows a key.
func (s *source) written(at *yaml.Node, where string, text placeholder.Template, forKeys bool) {
	plain := len(text) > 0 && len(text.Secrets()) == 0 && len(text.Arguments()) == 0
	if plain && forKeys || keyForm.MatchString(text.Fixed()) {
		s.Refuse(at, "%s contains a secret in plain text, and %s", where, nameIt)
	}
	for _, name := range text.Secrets() {
		if short, long := strings.CutPrefix(name, "DORMOUSE_SECRET_"); long {
			s.Refuse(at, "%s names the environment variable; write {secret:%s}, without DORMOUSE_SECRET_", where, short)
		}
	}
}

// writtenIn checks the query of an address without placeholders.
func (s *source) writtenIn(at *yaml.Node, where, address string) {
	u, err := url.Parse(address)
	if err != nil {
		return // reported already
	}
	found := keyForm.MatchString(address)
	for name, values := range u.Query() {
		found = found || keyQuery.MatchString(name) && values[0] != ""
	}
	if found {
		s.Refuse(at, "%s contains a secret in plain text, and agent files are stored and shown; send it in a header, as {secret:NAME}", where)
	}
}
