package printable

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Terminal returns a text for one line of a terminal. A terminal may reorder right-to-left writing
// and draws look-alikes the same, so both are marked in angle brackets. Text that imitates such a
// mark is escaped.
func Terminal(s Spelled) string {
	var b strings.Builder
	terminalParts(&b, s.Parts)
	return b.String()
}

// TerminalLines returns the lines of a text, each as [Terminal] does.
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

// drawable returns the letter if a terminal draws it separately and in place, or "".
func drawable(text string) string {
	if r, _ := decode(text); r >= 0x590 && r <= 0x8ff || rightToLeft(r) || isMark(r) {
		return ""
	}
	return text
}

// mark matches the beginning of a text that looks like a mark of this package.
var mark = lazyregexp.New(`^<(U\+|byte |[0-9]+ |blank>|tab>|line break>|from right to left:|Yes |No |nothing|empty )`)

// terminalPlain writes text unchanged, except that it replaces each right-to-left word by its code
// points.
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

// bare matches a name that needs no quotes.
var bare = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// TerminalPath returns the path to a value on one line: card.number, items[2]."a b". Quotes in a
// name are escaped.
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

// TerminalRow is a row as lines: its path and value, the further lines of the value, and its
// warnings.
type TerminalRow struct {
	First    string
	Further  []string // each begins with a bar, so that it isn't mistaken for a row
	Warnings []string
}

// TerminalRows returns the rows of JSON for a terminal.
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
