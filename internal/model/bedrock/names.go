package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// What Bedrock takes as names of tools and as ids of calls.
const (
	longestName = 64
	markLength  = 11 // of what tells apart two names that look the same once they are made fit
)

// wireName is the name that Bedrock knows a tool by: its own, if Bedrock takes that. It depends on
// the name alone, so that a tool is called the same in every request.
func wireName(name string) string { return fit(name, "tool", "_-") }

// wireID is the id that Bedrock knows a call by.
func wireID(id string) string { return fit(id, "call", "_-.:") }

// fit is text if it is made of letters, digits and the marks; else something that is, from which no
// other text comes.
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

// marked says whether text ends as what [fit] makes does. Such a text is made fit itself: else a
// tool could be named as another is on the wire, and be described where that one is called.
func marked(text string) bool {
	mark := text[max(0, len(text)-markLength):]
	return len(mark) == markLength && mark[0] == '_' && strings.Trim(mark[1:], "0123456789abcdef") == ""
}

// names leads from the names on the wire back to the tools' own.
type names map[string]string

func (n names) wire(name string) string {
	wire := wireName(name)
	n[wire] = name
	return wire
}

// own is the name a tool has here. One that nobody gave out stays as it is: whoever looks for such
// a tool says that there is none.
func (n names) own(wire string) string {
	if own, known := n[wire]; known {
		return own
	}
	return wire
}
