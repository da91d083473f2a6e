package printable

import (
	"slices"
	"strconv"
)

// Kind is what a [Part] of a text is.
type Kind int

const (
	Plain  Kind = iota // shows as it is
	Letter             // shows, and is not the letter it looks like: Label says which it is
	Chip               // does not show, or not as what it is: Label is shown in its place
	Break              // the end of a line
	Host               // the host of an address, which decides where it leads
)

// Part is a piece of a text. The texts of all parts, one behind the other, are the text.
type Part struct {
	Kind   Kind
	Text   string
	Label  string // of a Letter its code point, of a Chip what to show: U+202E, 66 blanks
	Script string // of a Letter: Cyrillic; "" if it is of none
}

// Spelled is a foreign text, taken apart so that it can be shown to a person who decides by it.
type Spelled struct {
	Parts []Part
	// Order is set if the text mixes writing from right to left with letters or digits from
	// left to right, so that it is not read in the order it is stored in: its pieces in stored
	// order, each of which reads in one direction.
	Order    [][]Part
	Warnings []Warning
}

// Warning is something about a text that a reader may miss. Code is stable. Text is in the words of
// this package and ASCII alone, so that no text under suspicion gets out by it.
type Warning struct{ Code, Text string }

// String is the text itself.
func (s Spelled) String() string {
	var b []byte
	for _, p := range s.Parts {
		b = append(b, p.Text...)
	}
	return string(b)
}

// Lines counts the lines of the text.
func (s Spelled) Lines() int {
	n := 1
	for _, p := range s.Parts {
		if p.Kind == Break {
			n++
		}
	}
	return n
}

// Len counts the characters of the text.
func (s Spelled) Len() (n int) {
	for _, p := range s.Parts {
		for range charsOf(p.Text) {
			n++
		}
	}
	return n
}

// Spell takes a text apart. It never leaves anything out.
func Spell(text string) Spelled {
	if calm(text) {
		return Spelled{Parts: plainParts(text)}
	}
	sp := speller{text: text, chars: slices.AppendSeq(make([]char, 0, len(text)), charsOf(text))}
	sp.marks = make([]Part, len(sp.chars))
	sp.offsets = make([]int, len(sp.chars))
	at, ascii := 0, true
	for i, c := range sp.chars {
		sp.offsets[i] = at
		at += len(c.text)
		ascii = ascii && isASCII(c.r)
	}
	sp.hidden()
	if !ascii {
		sp.lookalikes()
	}
	s := Spelled{Parts: sp.parts(0, len(sp.chars))}
	if !ascii {
		s.Order = sp.order()
	}
	if s.Order != nil {
		sp.warn("order", "Mixes writing from right to left and from left to right, so that it is not read in the order in which the tool gets it.")
	}
	s.Warnings = sp.warnings
	return s
}

func plainParts(text string) []Part {
	if text == "" {
		return nil
	}
	return []Part{{Text: text}}
}

// calm says that a text is printable ASCII with single blanks between words, as most are.
func calm(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return before != ' ' || text == ""
}

// speller marks the characters of a text: marks[i].Kind is what chars[i] is.
type speller struct {
	text     string
	chars    []char
	offsets  []int // of the characters in the text
	marks    []Part
	warnings []Warning
	scripts  map[rune]string // those that were looked up
}

// warn adds a warning, once of each code.
func (s *speller) warn(code, text string) {
	for _, w := range s.warnings {
		if w.Code == code {
			return
		}
	}
	s.warnings = append(s.warnings, Warning{code, text})
}

// hidden marks what does not show, reorders, takes no room, or piles up, and the blanks that cannot
// be counted by eye.
func (s *speller) hidden() {
	onBase, marks := false, 0
	for i, c := range s.chars {
		switch {
		case c.r == '\n':
			s.marks[i] = Part{Kind: Break, Label: "line break"}
			onBase = false
		case c.isByte() || c.isSurrogate():
			s.marks[i] = Part{Kind: Chip, Label: codePoint(c.r)}
			s.warn("not_text", "Has bytes that are not characters, or half of a character.")
			onBase = false
		case c.r == '\t':
			s.marks[i] = Part{Kind: Chip, Label: "tab"}
			s.warn("blanks", blanksWarning)
			onBase = false
		case hides(c.r):
			s.marks[i] = Part{Kind: Chip, Label: codePoint(c.r)}
			s.warn("hidden", "Has characters that do not show or change how others show. They are written as their numbers.")
			onBase = false
		case isMark(c.r):
			if marks++; marks > maxMarks || !onBase {
				s.marks[i] = Part{Kind: Chip, Label: codePoint(c.r)}
				s.warn("marks", "Has accents that pile up or belong to no letter. They are written as their numbers.")
			}
		default:
			onBase, marks = c.r != ' ', 0
		}
	}
	s.blanks()
}

const blanksWarning = "Has blanks at an edge or in a row, or tabs. They are marked."

// blanks marks blanks at the edges of a line and more than one in a row.
func (s *speller) blanks() {
	for i := 0; i < len(s.chars); i++ {
		if s.chars[i].r != ' ' {
			continue
		}
		end := i
		for end < len(s.chars) && s.chars[end].r == ' ' {
			end++
		}
		atEdge := i == 0 || end == len(s.chars) || s.marks[i-1].Kind == Break || s.marks[end].Kind == Break
		if end-i > 1 || atEdge {
			for n := i; n < end; n++ {
				s.marks[n] = Part{Kind: Chip, Label: "blank"}
			}
			s.warn("blanks", blanksWarning)
		}
		i = end
	}
}

// parts joins what is marked alike.
func (s *speller) parts(begin, upTo int) (parts []Part) {
	for i := begin; i < upTo; {
		p := s.marks[i]
		end, size := i+1, len(s.chars[i].text)
		for ; end < upTo && s.marks[end] == p && p.Kind != Break && p.Kind != Letter; end++ {
			size += len(s.chars[end].text)
		}
		p.Text = s.text[s.offsets[i] : s.offsets[i]+size]
		if p.Kind == Chip {
			p.Label = counted(p.Label, end-i)
		}
		parts = append(parts, p)
		i = end
	}
	return parts
}

// counted is the label of several chips in a row.
func counted(label string, n int) string {
	switch {
	case n == 1:
		return label
	case label == "blank" || label == "tab":
		return strconv.Itoa(n) + " " + label + "s"
	}
	return strconv.Itoa(n) + " times " + label
}
