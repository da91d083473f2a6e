// Package printable makes untrusted text safe to show to a person who makes a decision based on it:
// characters that are invisible, or that change how others appear, are written as escapes. It is
// independent of terminals and HTML.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text that is safe to show on one line: characters that would move the cursor, change
// colours, reorder, hide or have no width become visible escapes, such as \x1b or \u202e. Nothing
// is dropped, and applying it again changes nothing.
func Text(text string) string {
	return spell(text, escape)
}

// spell replaces invisible characters with escape.
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
			// also in JSON, which it then no longer is, as a person should see
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

// maxMarks limits the combining marks of a letter: real scripts need two or three, and more overlap
// other lines.
const maxMarks = 3

// plain reports whether text consists of printable ASCII, as most does.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// shows reports whether a person sees a character as itself. Spaces other than the ordinary one
// look like it and differ from it; fillers and variation selectors have no width or look like
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
