package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// clean is [printable.Text], the only way of text that somebody else wrote to a terminal.
func clean(text string) string { return printable.Text(text) }

// cleanLines is clean for text of several lines, which stay lines.
func cleanLines(text string) string {
	if !strings.Contains(text, "\n") {
		return clean(text)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// cleanProse is the lines of what a model or a tool said. It differs from clean in what writers of prose do without meaning anything by it: tabs,
// and the selector behind an emoji.
func cleanProse(text string) []string {
	return strings.Split(cleanLines(strings.TrimRight(prose.Replace(text), "\n")), "\n")
}

var prose = strings.NewReplacer("\r\n", "\n", "\t", "    ", "\ufe0f", "")

// cleanJSON is a value on one line that is still the same value: blanks inside of strings stay, and characters that do not show
// are written the way JSON escapes them. What is not JSON is cleaned as text.
func cleanJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return clean(string(raw))
	}
	return printable.JSON(b.String())
}

// cleanJSONLines is cleanJSON with a line for each member.
func cleanJSONLines(raw json.RawMessage) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return []string{clean(string(raw))}
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = printable.JSON(lines[i])
	}
	return lines
}

// spelled is text that a person decides by, on one line: what [clean] leaves to the terminal, it marks, so that letters from right to left reorder
// nothing and no letter passes for another.
func spelled(text string) string { return printable.Terminal(printable.Spell(text)) }

// spelledLines is spelled for text of several lines, which stay lines.
func spelledLines(text string) []string {
	return printable.TerminalLines(printable.Spell(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")))
}

// argumentLines are arguments by value: a line each, with further lines of a text below it, and what a reader may miss.
func argumentLines(raw json.RawMessage) (lines []line) {
	for _, r := range printable.TerminalRows(raw) {
		lines = append(lines, text("  "+r.First))
		for _, l := range r.Further {
			lines = append(lines, text("    "+l))
		}
		for _, w := range r.Warnings {
			lines = append(lines, line{{yellow, "    ! " + w}})
		}
	}
	return lines
}

// canonical is raw in its one form, in which texts that mean the same are the same; what is not JSON, or ambiguous, stays as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	if core.CheckJSON(raw) != nil {
		return raw
	}
	one, err := core.Canonical(raw)
	if err != nil {
		return raw
	}
	return one
}
