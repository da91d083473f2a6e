package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/visible"
)

// clean is [visible.Text], the only way of text that somebody else wrote to a terminal.
func clean(text string) string { return visible.Text(text) }

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
	return visible.JSON(b.String())
}

// cleanJSONLines is cleanJSON with a line for each member.
func cleanJSONLines(raw json.RawMessage) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return []string{clean(string(raw))}
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = visible.JSON(lines[i])
	}
	return lines
}

// hidden says whether JSON has characters that do not show, so that a reader is told to look twice.
func hidden(raw json.RawMessage) bool { return strings.Contains(cleanJSON(raw), `\u`) }
