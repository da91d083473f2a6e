package printable

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// looksLike is the character of ASCII that one beyond ASCII looks like, by the table of UTS 39; 0
// if it looks like none.
func looksLike(r rune) rune {
	if r >= 0xff01 && r <= 0xff5e { // the wide forms, all of them
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

// styled reports letters and digits in an unusual form: wide, mathematical, in circles. A reader
// takes them for the plain ones.
func styled(r rune) bool {
	return r >= 0xff01 && r <= 0xff5e || r >= 0x1d400 && r <= 0x1d7ff || r >= 0x2460 && r <= 0x24ff ||
		r >= 0x1f100 && r <= 0x1f19a || r >= 0x2100 && r <= 0x214f && (isLetter(r) || table()[r] != 0)
}

// ordinary is punctuation that looks like that of ASCII and is good typography, the apostrophes of
// Ukrainian and Hawaiian, and the Turkish i.
const ordinary = "‘’‚–‐‑´`×′¸˜ʼʻı"

const signsWarning = "Has signs that look like common ones and are not. They are marked."

// lookalikes marks the characters that are not what they look like.
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

// alone marks a character of Chinese, Japanese or Korean that looks like one of ASCII, unless there
// are others of these beside it.
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

// word is a stretch of letters, accents and digits.
type word struct {
	begin, end int
	scripts    []string // of its letters, in the order in which they come
	reads      string   // in ASCII, if it can be read so in full
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

// read notes the scripts of a word and what it reads like.
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

// alike are the scripts with letters that look like one another's.
var alike = []string{"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Lisu", "Deseret", "Osage", "Georgian",
	"Runic", "Old_Italic", "Gothic", "Canadian_Aboriginal", "Tifinagh", "Warang_Citi", "Carian", "Lycian", "Elbasan", "Vai",
	"Bamum", "Glagolitic"}

// mixed says whether a word has letters of two scripts that look alike. Japanese beside Latin is
// common, and neither is taken for the other.
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

// markForeign marks the letters of a word that are not Latin; in a word without Latin, those that
// are not of its first script.
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

// conspicuous says whether a word that can be read in ASCII is likely to be, even in a text of its
// own script. A short one is read as what it is: nearly every line of Russian has some. Beside a
// sign or a digit it is part of something else: A-17.
func (s *speller) conspicuous(w word) bool {
	behind := w.end
	if behind < len(s.chars) && strings.ContainsRune(",.;:!?", s.chars[behind].r) {
		behind++
	}
	return w.end-w.begin > 3 || !s.blank(w.begin-1) || !s.blank(behind)
}

// blank says whether there is a blank, the end of a line or nothing at i.
func (s *speller) blank(i int) bool {
	return i < 0 || i >= len(s.chars) || s.chars[i].r == ' ' || s.chars[i].r == '\n'
}

// skeleton is what two names have in common if a reader could take one for the other.
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
