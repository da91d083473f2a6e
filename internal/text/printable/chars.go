package printable

import (
	"fmt"
	"iter"
	"unicode"
	"unicode/utf8"
)

// char is one character of a text, with its bytes. Half of a surrogate pair, which JSON can name
// but UTF-8 cannot encode, has the three bytes that UTF-8 would use for it. A byte that is not part
// of a character has a negative rune.
type char struct {
	r    rune
	text string
}

func (c char) isByte() bool      { return c.r < 0 }
func (c char) isSurrogate() bool { return c.r >= 0xd800 && c.r <= 0xdfff }

func charsOf(text string) iter.Seq[char] {
	return func(yield func(char) bool) {
		for text != "" {
			r, size := decode(text)
			if !yield(char{r, text[:size]}) {
				return
			}
			text = text[size:]
		}
	}
}

// decode reads one character or half of a surrogate pair, and returns it with its size. An invalid
// byte b is returned as -1-b.
func decode(text string) (rune, int) {
	r, size := utf8.DecodeRuneInString(text)
	if r != utf8.RuneError || size != 1 {
		return r, size
	}
	if len(text) >= 3 && text[0] == 0xed && text[1]&0xe0 == 0xa0 && text[2]&0xc0 == 0x80 {
		return 0xd000 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), 3
	}
	return -1 - rune(text[0]), 1
}

// appendSurrogate appends half of a surrogate pair in the form that decode reads.
func appendSurrogate(b []byte, r rune) []byte {
	return append(b, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// codePoint returns the name of a character, such as U+202E, or of an invalid byte, such as byte
// FF.
func codePoint(r rune) string {
	if r < 0 {
		return fmt.Sprintf("byte %02X", -1-r)
	}
	return fmt.Sprintf("U+%04X", r)
}

func isMark(r rune) bool  { return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me) }
func isASCII(r rune) bool { return r >= 0 && r < 0x80 }
func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// hides reports whether a character must be replaced before it is shown: it is invisible, moves or
// reorders its neighbors, has no width, or is a space other than the ordinary one.
func hides(r rune) bool { return (r < ' ' || r > '~') && !shows(r) }
