// Package clip limits text from outside before it is stored or shown. It hides no secrets: a
// truncated value is no longer recognized, so redact first, or remove what may be the beginning of
// a secret.
package clip

import "unicode/utf8"

// Bytes returns text if it has at most most bytes, and otherwise its beginning, cut between two
// characters, followed by mark. The mark is not counted.
func Bytes(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return text[:boundary(text, most)] + mark
}

// boundary returns where text can be cut within most bytes without splitting a character. In
// invalid UTF-8, any position is allowed.
func boundary(text string, most int) int {
	for end := most; end >= 0 && most-end < utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			return end
		}
	}
	return max(most, 0)
}

// Runes is [Bytes] with a limit in characters.
func Runes(text string, most int, mark string) string {
	n := 0
	for end := range text {
		if n == most {
			return text[:end] + mark
		}
		n++
	}
	return text
}
