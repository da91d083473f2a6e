package printable

import (
	"slices"
	"strconv"
)

// Kind says how a [Part] of a text is shown.
type Kind int

const (
	Plain  Kind = iota // shown unchanged
	Letter             // a letter that looks like another; Label is its code point
	Chip               // invisible or misleading; Label is shown in its place
	Break              // the end of a line
	Host               // the host of an address, which decides where it leads
)

// Part is a piece of a text. The concatenated Text of all parts is the whole text.
type Part struct {
	Kind   Kind
	Text   string
	Label  string // for a Letter its code point, for a Chip what to show: U+202E, 66 blanks
	Script string // for a Letter: its script, such as Cyrillic, or ""
}

// Spelled is an untrusted text, split into parts so that it can be shown to a person who makes a
// decision based on it.
type Spelled struct {
	Parts []Part
	// Order is the text in stored order, in pieces that each have one direction. It is set only
	// if the text mixes right-to-left writing with left-to-right letters or digits, because it
	// then reads in another order than it is stored in.
	Order    [][]Part
	Warnings []Warning
}

// Warning is something in a text that a person may miss. Code is stable. Text is ASCII, so it
// contains no suspicious characters of the text.
type Warning struct{ Code, Text string }

// String returns the text.
func (s Spelled) String() string {
	var b []byte
	for _, p := range s.Parts {
		b = append(b, p.Text...)
	}
	return string(b)
}

// Lines returns the number of lines.
func (s Spelled) Lines() int {
	n := 1
	for _, p := range s.Parts {
		if p.Kind == Break {
			n++
		}
	}
	return n
}

// Len returns the number of characters.
func (s Spelled) Len() (n int) {
	for _, p := range s.Parts {
		for range charsOf(p.Text) {
			n++
		}
	}
	return n
}

// Spell splits a text into parts. The parts always contain the whole text.
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

// calm reports whether a text is printable ASCII with single blanks between words, as most texts
// are.
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

// speller marks the characters of a text: marks[i] says how chars[i] is shown.
type speller struct {
	text     string
	chars    []char
	offsets  []int // of the characters in the text
	marks    []Part
	warnings []Warning
	scripts  map[rune]string // cache of scriptOf
}

// warn adds a warning unless there is one with its code.
func (s *speller) warn(code, text string) {
	for _, w := range s.warnings {
		if w.Code == code {
			return
		}
	}
	s.warnings = append(s.warnings, Warning{code, text})
}

// hidden marks characters that are invisible, reorder others or have no width, accents that pile
// up, and blanks that a person cannot count by eye.
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

// blanks marks blanks at the edges of a line, and consecutive blanks.
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

// parts returns the characters from begin to upTo as parts. Adjacent characters with equal marks
// form one part, except letters and line breaks.
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

// counted returns the label of n consecutive chips.
func counted(label string, n int) string {
	switch {
	case n == 1:
		return label
	case label == "blank" || label == "tab":
		return strconv.Itoa(n) + " " + label + "s"
	}
	return strconv.Itoa(n) + " times " + label
}
