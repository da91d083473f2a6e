package printable

import "unicode"

// common lists the scripts that scriptOf tries first.
var common = []string{"Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew", "Devanagari", "Thai", "Armenian", "Cherokee"}

// script returns scriptOf(r), cached for the text.
func (s *speller) script(r rune) string {
	name, known := s.scripts[r]
	if !known {
		if s.scripts == nil {
			s.scripts = map[rune]string{}
		}
		name = scriptOf(r)
		s.scripts[r] = name
	}
	return name
}

// scriptOf returns the script of a letter, or "" if it has none or several.
func scriptOf(r rune) string {
	switch {
	case r < 0x41:
		return ""
	case r < 0x80:
		return "Latin"
	case unicode.In(r, unicode.Common, unicode.Inherited):
		return ""
	}
	for _, name := range common {
		if unicode.Is(unicode.Scripts[name], r) {
			return name
		}
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// cjk reports whether a character is Chinese, Japanese or Korean, or punctuation of these scripts.
func cjk(r rune) bool {
	return r >= 0x2e80 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3fffd
}
