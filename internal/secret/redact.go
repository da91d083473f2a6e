package secret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Redact puts the names of secrets, as [secret NAME], in the place of their values, however a
// service spells them, and of those with at least 8 letters and digits also where case, order or
// what is between the characters was changed. A name that is there already stays, so that doing it
// twice is doing it once. Where values overlap, all of them go, under one name.
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

// word is the name of a secret in the place of its value, if text begins with one.
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

// seen is the longest value that stands at a place, and where it ends; at the place itself if there
// is none.
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

// through is the end of all values that overlap with the one from at to end.
func (s sight) through(at, end int) int {
	for at++; at < end; at++ {
		_, further := s.seen(at)
		end = max(end, further)
	}
	return end
}

// In says whether a value stands anywhere in text.
func (v Values) In(text string) bool {
	s := v.index().over(text)
	for at := range len(text) {
		if _, end := s.seen(at); end > at {
			return true
		}
	}
	return false
}

// CutEnd drops the end of a text that was cut off if a secret may begin there.
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

// before is where the values begin that a cut at a place would cut in two; that place, if there are
// none. The end of one value may be how another begins.
func before(s sight, from, cut int) int {
	for at := cut - 1; at >= from; at-- {
		if _, end := s.seen(at); end > cut {
			cut = at
		}
	}
	return cut
}

// spelled is how many bytes at the beginning of text spell a value, each of its characters in
// whatever way; 0 if they do not. Open says that text ends before the value does.
func spelled(text, value string) (length int, open bool) {
	if text[0] != value[0] && !strings.Contains(`\%&+`, text[:1]) {
		return 0, false // as nearly everywhere
	}
	ends := []int{0}
	for i := 0; i < len(value) && len(ends) > 0; i++ {
		var next []int // several, as two backslashes may be one or two
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

// Escapes may be escaped again, by whoever puts one answer into another: so often at most.
const (
	mostBackslashes = 8
	mostLevels      = 4
	longestSpelling = 32
)

// spellings are the lengths of what spells a character at the beginning of text: itself, an escape
// of a URL, of JSON and most languages, or of HTML. Open says that text ends within one.
func spellings(text string, c byte) (lengths []int, open bool) {
	if text == "" {
		return nil, true
	}
	if text[0] == c || text[0] == '+' && c == ' ' {
		lengths = append(lengths, 1)
	}
	if c >= 128 { // no header can hold it, so nothing that was sent
		return lengths, false
	}
	// on the stack: nearly every place of a hostile text comes here
	var starts [mostBackslashes]int
	var count int
	var forms []string
	switch text[0] {
	case '%':
		count, open = levels(&starts, text, "25", mostLevels)
		forms = escapedForms[c]
	case '\\':
		count, open = levels(&starts, text, `\`, mostBackslashes)
		forms = backslashedForms[c]
	case '&':
		count, open = levels(&starts, text, "amp;", mostLevels)
		forms = entityForms[c]
	}
	for _, start := range starts[:count] {
		for _, form := range forms {
			switch rest := text[start:]; {
			case rest != "" && rest[0]|0x20 != form[0]|0x20: // as nearly everywhere
			case len(rest) >= len(form) && strings.EqualFold(rest[:len(form)], form):
				lengths = append(lengths, start+len(form))
			case len(rest) < len(form) && strings.EqualFold(rest, form[:len(rest)]):
				open = true
			}
		}
	}
	return lengths, open
}

// levels are the places behind the first character of text and behind each repetition of more that
// follows it, and how many they are. Open says that text ends within one.
func levels(starts *[mostBackslashes]int, text, more string, most int) (count int, open bool) {
	at := 1
	for starts[0], count = at, 1; count < most && strings.HasPrefix(text[at:], more); count++ {
		at += len(more)
		starts[count] = at
	}
	return count, len(text[at:]) < len(more) && strings.HasPrefix(more, text[at:])
}

// What stands for each character, made once.
var (
	escapedForms     = eachASCII(escaped)
	backslashedForms = eachASCII(backslashed)
	entityForms      = eachASCII(entities)
)

func eachASCII(forms func(byte) []string) (all [128][]string) {
	for c := range all {
		all[c] = forms(byte(c))
	}
	return all
}

// escaped is what stands for a character behind a percent sign. A blank may have become a plus
// before.
func escaped(c byte) []string {
	if c == ' ' {
		return []string{"20", "2b"}
	}
	return []string{fmt.Sprintf("%02x", c)}
}

// backslashed is what stands for a character behind a backslash. A letter behind one is another
// character.
func backslashed(c byte) []string {
	forms := []string{fmt.Sprintf("u%04x", c), fmt.Sprintf("x%02x", c), fmt.Sprintf("u{%x}", c)}
	if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
		forms = append(forms, string(c))
	}
	return forms
}

// entities is what stands for a character behind an ampersand.
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
