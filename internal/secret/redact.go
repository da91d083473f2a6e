package secret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Redact replaces the values of secrets by their names, as in [secret NAME], however a service
// spells them. Values with at least 8 letters and digits are also found if their case, order or
// separators were changed. Placeholders that are already there stay, so redacting twice changes
// nothing more. If values overlap, one name replaces all of them.
func (v Values) Redact(text string) string {
	if len(v) == 0 {
		return text
	}
	return v.redact(v.index(), text)
}

func (v Values) redact(all *index, text string) string {
	var out strings.Builder
	s := all.over(text)
	for at := 0; at < len(text); {
		name, end := s.seen(at)
		switch word := v.word(text[at:]); {
		case word != "":
			out.WriteString(word)
			at += len(word)
		case end == at:
			out.WriteByte(text[at])
			at++
		default:
			out.WriteString("[secret " + name + "]")
			at = s.through(at, end)
		}
	}
	return out.String()
}

// word returns the placeholder of a secret, if text begins with one.
func (v Values) word(text string) string {
	if strings.HasPrefix(text, "[secret ") {
		for name := range v {
			if word := "[secret " + name + "]"; strings.HasPrefix(text, word) {
				return word
			}
		}
	}
	return ""
}

// seen returns the longest value at a position, and where it ends; without a value, it returns the
// position itself.
func (s sight) seen(at int) (name string, end int) {
	end = at
	if i, ok := slices.BinarySearchFunc(s.loose, at, func(l span, at int) int { return cmp.Compare(l.from, at) }); ok {
		name, end = s.loose[i].name, s.loose[i].to
	}
	for _, w := range s.near(s.text[at:]) {
		if length, _ := spelled(s.text[at:], w.text); length > 0 && cmp.Or(cmp.Compare(at+length, end), cmp.Compare(name, w.name)) > 0 {
			name, end = w.name, at+length
		}
	}
	return name, end
}

// through returns the end of all values that overlap with the one from at to end.
func (s sight) through(at, end int) int {
	for at++; at < end; at++ {
		_, further := s.seen(at)
		end = max(end, further)
	}
	return end
}

// In reports whether text contains a value.
func (v Values) In(text string) bool {
	s := v.index().over(text)
	for at := range len(text) {
		if _, end := s.seen(at); end > at {
			return true
		}
	}
	return false
}

// CutEnd removes the end of a truncated text if a secret may begin there.
func (v Values) CutEnd(text string) string { return cutEnd(v.index(), text) }

func cutEnd(all *index, text string) string {
	from := max(0, len(text)-max(all.longest*longestSpelling, (all.loosest+1)*(mostBetween+1)))
	cut := all.begun(text)
	for at := from; at < cut; at++ {
		for _, w := range all.near(text[at:]) {
			if _, open := spelled(text[at:], w.text); open {
				cut = at
			}
		}
	}
	if cut == len(text) {
		return text
	}
	return text[:before(all.over(text), from, cut)]
}

// before returns where the values begin that a cut at a position would split; without any, it
// returns the position. One value may begin inside another.
func before(s sight, from, cut int) int {
	for at := cut - 1; at >= from; at-- {
		if _, end := s.seen(at); end > cut {
			cut = at
		}
	}
	return cut
}

// spelled returns how many bytes at the start of text spell a value, with any spelling of each
// character; 0 if they do not. open says that text ends before the value does.
func spelled(text, value string) (length int, open bool) {
	if text[0] != value[0] && !strings.Contains(`\%&+`, text[:1]) {
		return 0, false // the usual case
	}
	ends := []int{0}
	for i := 0; i < len(value) && len(ends) > 0; i++ {
		var next []int // several, because two backslashes may spell one or two
		for _, end := range ends {
			lengths, cut := spellings(text[end:], value[i])
			for _, n := range lengths {
				if !slices.Contains(next, end+n) {
					next = append(next, end+n)
				}
			}
			open = open || cut
		}
		ends = next
	}
	if len(ends) == 0 {
		return 0, open
	}
	return slices.Max(ends), open
}

// Escapes may be escaped again when one answer is embedded in another; this limits how often.
const (
	mostBackslashes = 8
	mostLevels      = 4
	longestSpelling = 32
)

// spellings returns the lengths of everything that spells a character at the start of text: the
// character itself, or an escape of a URL, of JSON and most languages, or of HTML. open says that
// text ends within one.
func spellings(text string, c byte) (lengths []int, open bool) {
	if text == "" {
		return nil, true
	}
	if text[0] == c || text[0] == '+' && c == ' ' {
		lengths = append(lengths, 1)
	}
	if c >= 128 { // a header cannot contain it, so it is not part of a value that was sent
		return lengths, false
	}
	// on the stack, because nearly every position of a hostile text comes here
	var starts [mostBackslashes]int
	var count int
	var forms []string
	switch text[0] {
	case '%':
		count, open = levels(&starts, text, "25", mostLevels)
		forms = escapedForms()[c]
	case '\\':
		count, open = levels(&starts, text, `\`, mostBackslashes)
		forms = backslashedForms()[c]
	case '&':
		count, open = levels(&starts, text, "amp;", mostLevels)
		forms = entityForms()[c]
	}
	for _, start := range starts[:count] {
		for _, form := range forms {
			switch rest := text[start:]; {
			case rest != "" && rest[0]|0x20 != form[0]|0x20: // the usual case
			case len(rest) >= len(form) && strings.EqualFold(rest[:len(form)], form):
				lengths = append(lengths, start+len(form))
			case len(rest) < len(form) && strings.EqualFold(rest, form[:len(rest)]):
				open = true
			}
		}
	}
	return lengths, open
}

// levels returns the positions after the first character of text and after each following
// repetition of more, and their number. open says that text ends within one.
func levels(starts *[mostBackslashes]int, text, more string, most int) (count int, open bool) {
	at := 1
	for starts[0], count = at, 1; count < most && strings.HasPrefix(text[at:], more); count++ {
		at += len(more)
		starts[count] = at
	}
	return count, len(text[at:]) < len(more) && strings.HasPrefix(more, text[at:])
}

// The spellings of each character, computed once, when a secret is first looked for.
var (
	escapedForms     = eachASCII(escaped)
	backslashedForms = eachASCII(backslashed)
	entityForms      = eachASCII(entities)
)

func eachASCII(forms func(byte) []string) func() *[128][]string {
	return sync.OnceValue(func() *[128][]string {
		var all [128][]string
		for c := range all {
			all[c] = forms(byte(c))
		}
		return &all
	})
}

// escaped returns the spellings of a character after a percent sign. A space may have become a plus
// before.
func escaped(c byte) []string {
	if c == ' ' {
		return []string{"20", "2b"}
	}
	return []string{fmt.Sprintf("%02x", c)}
}

// backslashed returns the spellings of a character after a backslash. A letter after a backslash
// means another character.
func backslashed(c byte) []string {
	forms := []string{fmt.Sprintf("u%04x", c), fmt.Sprintf("x%02x", c), fmt.Sprintf("u{%x}", c)}
	if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
		forms = append(forms, string(c))
	}
	return forms
}

// entities returns the spellings of a character after an ampersand.
func entities(c byte) []string {
	forms := []string{fmt.Sprintf("#%d;", c), fmt.Sprintf("#%03d;", c), fmt.Sprintf("#x%x;", c), fmt.Sprintf("#x%04x;", c)}
	if name := entityNames[c]; name != "" {
		forms = append(forms, name+";")
	}
	return forms
}

var entityNames = map[byte]string{'!': "excl", '"': "quot", '#': "num", '$': "dollar", '%': "percnt", '&': "amp", '\'': "apos", '(': "lpar", ')': "rpar",
	'*': "ast", '+': "plus", ',': "comma", '.': "period", '/': "sol", ':': "colon", ';': "semi", '<': "lt", '=': "equals", '>': "gt", '?': "quest", '@': "commat",
	'[': "lsqb", '\\': "bsol", ']': "rsqb", '^': "Hat", '_': "lowbar", '`': "grave", '{': "lcub", '|': "vert", '}': "rcub"}
