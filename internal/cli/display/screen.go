// Package display makes text for a terminal, or for a file: lines with styles, tables, progress,
// and values of others in a form that cannot take control of the terminal. It prints nothing by
// itself.
package display

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Screen is what is known of the place that text goes to.
type Screen struct {
	Terminal bool // a person looks at it
	Dumb     bool // it is one that knows no cursor
	Colour   bool
	Width    int // in columns; 0 is unknown, and endless
	Height   int
}

// ScreenOf looks at where w leads to. Anything else than a terminal gets plain text of unlimited
// width.
func ScreenOf(w io.Writer, getenv func(string) string) Screen {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return Screen{}
	}
	s := Screen{Terminal: true, Dumb: getenv("TERM") == "dumb"}
	s.Colour = !s.Dumb && getenv("NO_COLOR") == ""
	if width, height, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width, s.Height = width, height
	}
	return s
}

// Style is how a piece of text is highlighted. Color never adds information to the text.
type Style string

const (
	AsIs   Style = ""
	Faint  Style = "2"
	Bold   Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
	Marked Style = "7"
)

// span is a piece of text in one style.
type span struct {
	Style Style
	Text  string
}

// Line is text on one line.
type Line []span

// Text is a line in no style.
func Text(words string) Line { return Line{{AsIs, words}} }

// String is the line without its styles, clean.
func (l Line) String() string { return l.Render(false) }

// Render cleans every piece and adds the colours: no other escape than these can come out of it.
func (l Line) Render(colour bool) string {
	var b strings.Builder
	for _, s := range l {
		words := Clean(s.Text)
		if colour && s.Style != AsIs && words != "" {
			words = "\x1b[" + string(s.Style) + "m" + words + "\x1b[0m"
		}
		b.WriteString(words)
	}
	return b.String()
}

// Cut ends the line where the screen does.
func (l Line) Cut(columns int) Line {
	if columns <= 0 || Wide(l.String()) <= columns {
		return l
	}
	var kept Line
	for _, s := range l {
		words := Clean(s.Text)
		if w := Wide(words); w < columns {
			kept, columns = append(kept, span{s.Style, words}), columns-w
			continue
		}
		return append(kept, span{s.Style, cut(words+"…", columns)})
	}
	return kept
}

// Wrap breaks the line where the screen ends, with the rest behind so many blanks.
func (l Line) Wrap(columns, indent int) []Line {
	if columns == 1 {
		columns = 2 // what takes two columns has no place in one
	}
	if columns <= 0 || Wide(l.String()) <= columns {
		return []Line{l}
	}
	if columns < 2*indent {
		indent = 0
	}
	var out []Line
	var now Line
	room := columns
	for _, s := range l {
		for words := Clean(s.Text); words != ""; {
			head, rest := Split(words, room)
			if head != "" {
				now = append(now, span{s.Style, head})
			}
			room -= Wide(head)
			if words = rest; rest != "" {
				out = append(out, now)
				now, room = Line{{AsIs, strings.Repeat(" ", indent)}}, columns-indent
			}
		}
	}
	return append(out, now)
}

// Split takes as much of clean text as fits into so many columns, up to a blank if there is one in
// the second half.
func Split(words string, columns int) (head, rest string) {
	used, blank := 0, 0
	for i, r := range words {
		w := runeWidth(r)
		if used+w > columns {
			if blank > 0 {
				i = blank
			}
			return words[:i], words[i:]
		}
		used += w
		if r == ' ' && used > columns/2 {
			blank = i + 1
		}
	}
	return words, ""
}

// cut shortens clean text to so many columns, and says with a last character that there was more.
func cut(words string, columns int) string {
	if Wide(words) <= columns {
		return words
	}
	used := 0
	for i, r := range words {
		if used += runeWidth(r); used > columns-1 {
			return words[:i] + "…"
		}
	}
	return words
}

// Wide is how many columns clean text takes.
func Wide(words string) (columns int) {
	for _, r := range words {
		columns += runeWidth(r)
	}
	return columns
}

// doubled are the characters that take two columns, in ranges. Where terminals differ, the wider
// answer is taken: a line that is a column too short does no harm.
var doubled = [][2]rune{{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615},
	{0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5},
	{0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f5}, {0x26fa, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274e}, {0x2753, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b55},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff01, 0xff60},
	{0xffe0, 0xffe6}, {0x16fe0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f1ff}, {0x1f200, 0x1faff}, {0x20000, 0x3fffd}}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	for _, pair := range doubled {
		if pair[0] <= r && r <= pair[1] {
			return 2
		}
	}
	return 1
}
