package printable

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Terminal is a text on one line of a terminal, which may reorder what is written from right to
// left and draws what looks alike alike: both are marked, in angle brackets. What the text itself
// has of such marks is marked, so that none can be forged.
func Terminal(s Spelled) string {
	var b strings.Builder
	terminalParts(&b, s.Parts)
	return b.String()
}

// TerminalLines is a text in the lines it has.
func TerminalLines(s Spelled) (lines []string) {
	begin := 0
	for i, p := range s.Parts {
		if p.Kind == Break {
			lines, begin = append(lines, Terminal(Spelled{Parts: s.Parts[begin:i]})), i+1
		}
	}
	return append(lines, Terminal(Spelled{Parts: s.Parts[begin:]}))
}

func terminalParts(b *strings.Builder, parts []Part) {
	for _, p := range parts {
		switch p.Kind {
		case Plain, Host:
			terminalPlain(b, p.Text)
		case Letter:
			b.WriteString("<" + strings.Join(strings.Fields(p.Label+" "+strings.ReplaceAll(p.Script, "_", " ")+" "+drawable(p.Text)), " ") + ">")
		default:
			b.WriteString("<" + p.Label + ">")
		}
	}
}

// drawable is the letter if a terminal draws it alone and in place, or nothing.
func drawable(text string) string {
	if r, _ := decode(text); r >= 0x590 && r <= 0x8ff || rightToLeft(r) || isMark(r) {
		return ""
	}
	return text
}

// mark is the beginning of what looks like a mark of this package.
var mark = regexp.MustCompile(`^<(U\+|byte |[0-9]+ |blank>|tab>|line break>|from right to left:|Yes |No |nothing|empty )`)

// terminalPlain writes what shows as it is, but for letters from right to left, which are written
// as their numbers, a word at a time.
func terminalPlain(b *strings.Builder, text string) {
	var run []string
	end := func() {
		if run != nil {
			b.WriteString("<from right to left: " + strings.Join(run, " ") + ">")
			run = nil
		}
	}
	for at, c := range text {
		switch {
		case rightToLeft(c) || run != nil && isMark(c):
			run = append(run, codePoint(c))
			continue
		case c == '<' && mark.MatchString(text[at:min(at+24, len(text))]):
			end()
			b.WriteString("<U+003C>")
			continue
		}
		end()
		b.WriteRune(c)
	}
	end()
}

// bare is a name that needs no quotes.
var bare = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// TerminalPath is the way to a value on one line: card.number, items[2]."a b". A quote in a name is
// a mark.
func TerminalPath(path []Step) string {
	var b strings.Builder
	for i, step := range path {
		if step.Place > 0 {
			b.WriteString("[" + strconv.Itoa(step.Place) + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		if name := step.Name.String(); bare.MatchString(name) {
			b.WriteString(name)
		} else {
			b.WriteString(`"` + strings.ReplaceAll(Terminal(step.Name), `"`, "<U+0022>") + `"`)
		}
	}
	return b.String()
}

// TerminalRow is a row in lines: its path and its value, the further lines of the value, and what
// there is to say of it.
type TerminalRow struct {
	First    string
	Further  []string // behind a bar, so that none is taken for a row
	Warnings []string
}

// TerminalRows takes JSON apart for a terminal.
func TerminalRows(raw []byte) (rows []TerminalRow) {
	for _, row := range Rows(raw) {
		rows = append(rows, terminalRow(row))
	}
	return rows
}

func terminalRow(row Row) (t TerminalRow) {
	value := "<" + row.Words + ">"
	if row.Words == "" {
		lines := TerminalLines(row.Value)
		value = lines[0]
		if len(lines) > 1 {
			value = "<" + strconv.Itoa(len(lines)) + " lines>"
			for _, l := range lines {
				t.Further = append(t.Further, "| "+l)
			}
		}
	}
	for _, note := range row.Notes {
		value += "  (" + note + ")"
	}
	if path := TerminalPath(row.Path); path != "" {
		value = path + ": " + value
	}
	t.First = value
	for _, w := range row.Warnings {
		if !slices.Contains(t.Warnings, w.Text) {
			t.Warnings = append(t.Warnings, w.Text)
		}
	}
	return t
}
