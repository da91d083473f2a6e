// Package printable makes text that somebody else wrote fit to be shown to a person who decides by
// it: what would not show, or would change how the rest shows, is written as an escape. It knows
// neither terminals nor pages.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is fit to be shown on one line: whatever would move the cursor, colour, reorder, hide or
// take no room is written as an escape a person can see, such as \x1b or \u202e, and nothing is
// left out. Doing it again changes nothing.
func Text(text string) string {
	return spell(text, escape)
}

// spell writes what does not show with escape.
func spell(text string, escape func(rune) string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	marks := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if marks++; !isMark(r) {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			// in JSON, too: it is none any more, and that is what a person should see
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case shows(r) && marks <= maxMarks:
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
		i += size
	}
	return b.String()
}

// maxMarks is how many combining marks a letter may carry: real scripts need two or three, more
// climb into other lines.
const maxMarks = 3

// plain says whether text is nothing but the printable characters of ASCII, as most is.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// shows says whether a character is one that a person sees, where it stands. Spaces other than the
// common one look like it and are not it; fillers and variation selectors take no room or look like
// nothing.
func shows(r rune) bool {
	const brailleBlank, nullNotehead, objectReplacement = 0x2800, 0x1d159, 0xfffc
	return unicode.IsPrint(r) && r != utf8.RuneError && r != brailleBlank && r != nullNotehead && r != objectReplacement &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
