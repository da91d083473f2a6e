// Package clip bounds text from outside before it is stored or shown. It hides no secrets: a value
// that is cut in two is no longer recognized, so redact first, or drop what may be the beginning of
// one.
package clip

import "unicode/utf8"

// Bytes returns text if it has at most so many bytes, and otherwise its beginning, cut between two
// characters, with mark behind it. The mark is not counted.
func Bytes(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return text[:boundary(text, most)] + mark
}

// boundary is where text can be cut at most bytes from its beginning without splitting a character.
// In bytes that are no UTF-8, every place is one.
func boundary(text string, most int) int {
	for end := most; end >= 0 && most-end < utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			return end
		}
	}
	return max(most, 0)
}

// Runes is [Bytes] with a bound in characters.
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
