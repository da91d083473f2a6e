package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Bedrock's limits for names of tools and ids of calls.
const (
	longestName = 64
	markLength  = 11 // of the suffix that distinguishes names that would otherwise become equal
)

// wireName returns the name of a tool in requests: its own, if Bedrock accepts that. It depends
// only on the name, so that a tool has the same name in every request.
func wireName(name string) string { return fit(name, "tool", "_-") }

// wireID returns the id of a call in requests.
func wireID(id string) string { return fit(id, "call", "_-.:") }

// fit returns text unchanged if it consists of letters, digits and the marks; otherwise it returns
// a unique replacement that does.
func fit(text, empty, marks string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(marks, r) {
			return r
		}
		return '_'
	}, text)
	if clean == text && text != "" && len(text) <= longestName && !marked(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	if strings.Trim(clean, "_") == "" {
		clean = empty
	}
	return clean[:min(len(clean), longestName-markLength)] + "_" + hex.EncodeToString(sum[:])[:markLength-1]
}

// marked reports whether text ends like a replacement of [fit]. Such a text is replaced as well:
// otherwise one tool could have the wire name of another and be described in its place.
func marked(text string) bool {
	mark := text[max(0, len(text)-markLength):]
	return len(mark) == markLength && mark[0] == '_' && strings.Trim(mark[1:], "0123456789abcdef") == ""
}

// names maps the wire names back to the names of the tools.
type names map[string]string

func (n names) wire(name string) string {
	wire := wireName(name)
	n[wire] = name
	return wire
}

// own returns the tool's own name. An unknown name stays as it is, and the engine reports that
// there is no such tool.
func (n names) own(wire string) string {
	if own, known := n[wire]; known {
		return own
	}
	return wire
}
