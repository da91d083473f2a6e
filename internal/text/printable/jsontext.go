package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// unescaped decodes the inside of a JSON string once. Halves of surrogate pairs stay unchanged.
func unescaped(inner string) string {
	if !strings.Contains(inner, `\`) {
		return inner
	}
	b := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b = append(b, inner[i])
			continue
		}
		i++
		if inner[i] != 'u' {
			b = append(b, single(inner[i]))
			continue
		}
		r := hex4(inner[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			if whole := utf16.DecodeRune(r, escapedAt(inner, i+1)); whole != 0xfffd {
				b = append(b, string(whole)...)
				i += 6
				continue
			}
			b = appendSurrogate(b, r)
			continue
		}
		b = append(b, string(r)...)
	}
	return string(b)
}

// escapedAt returns the character of the four-digit escape at i, if there is one.
func escapedAt(text string, i int) rune {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0xfffd
	}
	return hex4(text[i+2:])
}

func hex4(text string) rune {
	if len(text) < 4 {
		return 0xfffd
	}
	n, err := strconv.ParseUint(text[:4], 16, 32)
	if err != nil {
		return 0xfffd
	}
	return rune(n)
}

func single(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// JSON returns JSON, or lines of it, with the same value: in its strings, unnecessary escapes are
// decoded, and characters that are invisible, misleading or written from right to left are escaped.
func JSON(text string) string {
	var b strings.Builder
	for text != "" {
		outside, rest, found := strings.Cut(text, `"`)
		b.WriteString(spell(outside, jsonEscape))
		if !found {
			break
		}
		end := closing(rest)
		if end < 0 { // not a JSON string
			b.WriteString(spell(`"`+rest, jsonEscape))
			break
		}
		b.WriteString(requoted(rest[:end]))
		text = rest[end+1:]
	}
	return b.String()
}

// closing returns where the string ends whose inside begins text, or -1.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// requoted returns the inside of a JSON string, quoted for a person.
func requoted(inside string) string {
	if calm(inside) && !strings.Contains(inside, `\`) || inside == " " {
		return `"` + inside + `"`
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, p := range Spell(unescaped(inside)).Parts {
		for c := range charsOf(p.Text) {
			b.WriteString(quotedChar(p, c))
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quotedChar returns a character in a JSON string.
func quotedChar(p Part, c char) string {
	switch {
	case c.r == '"' || c.r == '\\':
		return `\` + c.text
	case c.r == '\n':
		return `\n`
	case c.r == '\t':
		return `\t`
	case c.r == '\r':
		return `\r`
	case c.isByte():
		// no longer JSON, as a person should see
		return fmt.Sprintf(`\x%02x`, -1-c.r)
	case c.r == ' ' && len(p.Text) <= maxBlanks:
		return " "
	case p.Kind == Plain && !rightToLeft(c.r):
		return c.text
	}
	return jsonEscape(c.r)
}

// maxBlanks is how many consecutive blanks a person can count by eye.
const maxBlanks = 3

func jsonEscape(r rune) string {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
