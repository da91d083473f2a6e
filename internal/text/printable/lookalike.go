package printable

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// looksLike returns the ASCII character that a non-ASCII character looks like according to UTS 39,
// or 0 if there is none.
func looksLike(r rune) rune {
	if r >= 0xff01 && r <= 0xff5e { // the wide forms
		return r - 0xff01 + '!'
	}
	return table()[r]
}

var table = sync.OnceValue(func() map[rune]rune {
	all := make(map[rune]rune, len(confusables)/4)
	from := rune(0)
	for _, r := range confusables {
		if from == 0 {
			from = r
			continue
		}
		all[from], from = r, 0
	}
	return all
})

func isLetter(r rune) bool { return r >= 0 && unicode.IsLetter(r) }
func isDigit(r rune) bool  { return r >= 0 && unicode.Is(unicode.Nd, r) }
func isNumber(r rune) bool { return r >= 0x80 && unicode.In(r, unicode.No, unicode.Nl) }

// styled reports whether a character is a letter or digit in an unusual form: wide, mathematical or
// circled. A person reads it as the plain one.
func styled(r rune) bool {
	return r >= 0xff01 && r <= 0xff5e || r >= 0x1d400 && r <= 0x1d7ff || r >= 0x2460 && r <= 0x24ff ||
		r >= 0x1f100 && r <= 0x1f19a || r >= 0x2100 && r <= 0x214f && (isLetter(r) || table()[r] != 0)
}

// ordinary lists look-alikes of ASCII that are not suspicious: typographic punctuation, the
// apostrophes of Ukrainian and Hawaiian, and the Turkish dotless i.
const ordinary = "‘’‚–‐‑´`×′¸˜ʼʻı"

const signsWarning = "Has signs that look like common ones and are not. They are marked."

// lookalikes marks the characters that look like other characters.
func (s *speller) lookalikes() {
	for i, c := range s.chars {
		if s.marks[i].Kind != Plain || c.r < 0x80 || strings.ContainsRune(ordinary, c.r) {
			continue
		}
		switch like := looksLike(c.r); {
		case styled(c.r):
			s.mark(i)
			s.warn("styled", "Has letters, digits or signs in an unusual form, such as wide ones. Programs do not take them for the plain ones.")
		case isDigit(c.r):
			s.mark(i)
			s.warn("digits", "Has digits of another script, which can look like other digits or letters. They are marked.")
		case isNumber(c.r) && c.r != '¼' && c.r != '½' && c.r != '¾':
			s.mark(i)
			s.warn("digits", "Has raised, lowered or framed digits. Programs do not read them as digits.")
		case like == 0 || rightToLeft(c.r):
		case !isLetter(c.r):
			s.mark(i)
			s.warn("punctuation", signsWarning)
		case cjk(c.r):
			s.alone(i)
		case s.script(c.r) == "Latin" || s.script(c.r) == "":
			s.mark(i)
			s.warn("looks_like", "Has letters that look like common ones and are not. They are marked.")
		}
	}
	s.words()
}

// alone marks a Chinese, Japanese or Korean character that looks like an ASCII one, unless it is
// next to a character of these scripts that does not.
func (s *speller) alone(i int) {
	for _, n := range []int{i - 1, i + 1} {
		if n >= 0 && n < len(s.chars) && cjk(s.chars[n].r) && looksLike(s.chars[n].r) == 0 {
			return
		}
	}
	s.mark(i)
	s.warn("punctuation", signsWarning)
}

func (s *speller) mark(i int) {
	r := s.chars[i].r
	s.marks[i] = Part{Kind: Letter, Label: codePoint(r), Script: s.script(r)}
}

// word is a sequence of letters, accents and digits.
type word struct {
	begin, end int
	scripts    []string // of its letters, in order of appearance
	reads      string   // the word in ASCII, if all of it can be read so
}

func (s *speller) words() {
	var all []word
	for i := 0; i < len(s.chars); i++ {
		if !s.inWord(i) {
			continue
		}
		w := word{begin: i}
		for ; i < len(s.chars) && s.inWord(i); i++ {
		}
		w.end = i
		s.read(&w)
		all = append(all, w)
	}
	foreign := map[string]bool{} // scripts with a word that cannot be read in ASCII
	for _, w := range all {
		if w.reads == "" && w.scripts != nil {
			foreign[w.scripts[0]] = true
		}
	}
	for _, w := range all {
		switch {
		case mixed(w.scripts):
			s.markForeign(w)
			s.warn("mixed_scripts", mixedWarning(w))
		case w.reads != "" && w.scripts != nil && w.scripts[0] != "Latin" && (!foreign[w.scripts[0]] || s.conspicuous(w)):
			s.markForeign(w)
			s.warn("looks_like", fmt.Sprintf("Reads like %q, but its letters are %s.", short(w.reads), w.scripts[0]))
		}
	}
}

func (s *speller) inWord(i int) bool {
	r := s.chars[i].r
	if r == '\'' || r == '’' {
		return i > 0 && i+1 < len(s.chars) && isLetter(s.chars[i-1].r) && isLetter(s.chars[i+1].r)
	}
	return s.marks[i].Kind != Chip && (isLetter(r) || isMark(r) || isDigit(r))
}

// read sets the scripts of a word and the ASCII word that it reads like.
func (s *speller) read(w *word) {
	var reads strings.Builder
	legible := true
	for _, c := range s.chars[w.begin:w.end] {
		like := c.r
		if !isASCII(c.r) {
			like = looksLike(c.r)
		}
		if like == '\'' {
			continue
		}
		if legible = legible && isAlnum(like) && !rightToLeft(c.r); legible {
			reads.WriteRune(like)
		}
		if !isLetter(c.r) {
			continue
		}
		if script := s.script(c.r); script != "" && !slices.Contains(w.scripts, script) {
			w.scripts = append(w.scripts, script)
		}
	}
	if legible {
		w.reads = reads.String()
	}
}

// alike lists the scripts that have letters which look like letters of another script.
var alike = []string{"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Lisu", "Deseret", "Osage", "Georgian",
	"Runic", "Old_Italic", "Gothic", "Canadian_Aboriginal", "Tifinagh", "Warang_Citi", "Carian", "Lycian", "Elbasan", "Vai",
	"Bamum", "Glagolitic"}

// mixed reports whether a word combines scripts that look alike. Japanese next to Latin is common,
// and neither is mistaken for the other.
func mixed(scripts []string) bool {
	n := 0
	for _, s := range scripts {
		if slices.Contains(alike, s) {
			n++
		}
	}
	return n > 1
}

func mixedWarning(w word) string {
	names := strings.ReplaceAll(strings.Join(w.scripts, " and "), "_", " ")
	if w.reads != "" {
		return fmt.Sprintf("The word %q mixes alphabets: %s. The marked letters are not the ones they look like.", short(w.reads), names)
	}
	return fmt.Sprintf("A word mixes alphabets: %s. The marked letters may not be the ones they look like.", names)
}

func short(reads string) string {
	if len(reads) > 40 {
		return reads[:40] + "..."
	}
	return reads
}

// markForeign marks the letters of a word that are not Latin. In a word of several scripts without
// Latin, it marks those that are not in the first script.
func (s *speller) markForeign(w word) {
	home := "Latin"
	if mixed(w.scripts) && !slices.Contains(w.scripts, home) {
		home = w.scripts[0]
	}
	for i := w.begin; i < w.end; i++ {
		if r := s.chars[i].r; isLetter(r) && !isASCII(r) && s.script(r) != home {
			s.mark(i)
		}
	}
}

// conspicuous reports whether a person is likely to read a word as ASCII even in a text of the
// word's script. A word of up to three characters is not: nearly every line of Russian has some.
// Next to a sign or a digit it is, because it is then part of a code such as A-17.
func (s *speller) conspicuous(w word) bool {
	behind := w.end
	if behind < len(s.chars) && strings.ContainsRune(",.;:!?", s.chars[behind].r) {
		behind++
	}
	return w.end-w.begin > 3 || !s.blank(w.begin-1) || !s.blank(behind)
}

// blank reports whether there is a blank, a line break or the edge of the text at i.
func (s *speller) blank(i int) bool {
	return i < 0 || i >= len(s.chars) || s.chars[i].r == ' ' || s.chars[i].r == '\n'
}

// skeleton returns a form of a name that is the same for all names that look alike.
func skeleton(text string) string {
	var b strings.Builder
	for c := range charsOf(text) {
		switch like := looksLike(c.r); {
		case hides(c.r), c.r == ' ':
		case like != 0:
			b.WriteRune(unicode.ToLower(like))
		default:
			b.WriteRune(unicode.ToLower(c.r))
		}
	}
	return b.String()
}
