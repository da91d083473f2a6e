package display

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Clean is [printable.Text], the only path of text from others to a terminal.
func Clean(text string) string { return printable.Text(text) }

// CleanLines is clean for text of several lines, which stay lines.
func CleanLines(text string) string {
	if !strings.Contains(text, "\n") {
		return Clean(text)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// CleanProse is the lines of what a model or a tool said. It differs from clean in what writers of
// prose do without meaning anything by it: tabs, and the selector behind an emoji.
func CleanProse(text string) []string {
	return strings.Split(CleanLines(strings.TrimRight(Prose.Replace(text), "\n")), "\n")
}

// Prose removes what is harmless in text of several lines, but would be shown as an escape.
var Prose = strings.NewReplacer("\r\n", "\n", "\t", "    ", "\ufe0f", "")

// CleanJSON is a value on one line that is still the same value: blanks inside of strings stay, and
// characters that do not show are written the way JSON escapes them. What is not JSON is cleaned as
// text.
func CleanJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return Clean(string(raw))
	}
	return printable.JSON(b.String())
}

// CleanJSONLines is cleanJSON with a line for each member.
func CleanJSONLines(raw json.RawMessage) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return []string{Clean(string(raw))}
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = printable.JSON(lines[i])
	}
	return lines
}

// Spelled is text that a person decides by, on one line: what [clean] leaves to the terminal, it
// marks, so that letters from right to left reorder nothing and no letter passes for another.
func Spelled(text string) string { return printable.Terminal(printable.Spell(text)) }

// SpelledLines is spelled for text of several lines, which stay lines.
func SpelledLines(text string) []string {
	return printable.TerminalLines(printable.Spell(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")))
}

// ArgumentLines are arguments by value: a line each, with further lines of a text below it, and
// what a reader may miss.
func ArgumentLines(raw json.RawMessage) (lines []Line) {
	for _, r := range printable.TerminalRows(raw) {
		lines = append(lines, Text("  "+r.First))
		for _, l := range r.Further {
			lines = append(lines, Text("    "+l))
		}
		for _, w := range r.Warnings {
			lines = append(lines, Line{{Yellow, "    ! " + w}})
		}
	}
	return lines
}

// canonical is raw in its one form, in which texts that mean the same are the same; what is not
// JSON, or ambiguous, stays as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	if strict.Check(raw) != nil {
		return raw
	}
	one, err := core.Canonical(raw)
	if err != nil {
		return raw
	}
	return one
}
