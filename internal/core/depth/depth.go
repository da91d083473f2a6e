// Package depth bounds how deep JSON is nested.
package depth

import "encoding/json"

// Max is how many levels of lists and objects the JSON has at most that models, tools, callers
// and hooks send. The journal wraps what it is given and readers parse it again: many of them stop
// at a few hundred levels, and encoding/json stops at 10,000.
const Max = 256

// Exceeded says whether lists and objects are nested more than [Max] deep. It looks at brackets
// outside of strings only; the answer for text that is not JSON means nothing.
func Exceeded(raw []byte) bool {
	level, inText, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = c == '\\', c != '"'
		case c == '"':
			inText = true
		case c == '{', c == '[':
			if level++; level > Max {
				return true
			}
		case c == '}', c == ']':
			level--
		}
	}
	return false
}

// Valid says whether raw is one JSON value that is not nested too deep.
func Valid(raw []byte) bool { return json.Valid(raw) && !Exceeded(raw) }
