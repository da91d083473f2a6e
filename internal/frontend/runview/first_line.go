package runview

import (
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// firstLineRunes is how many characters of a run's first line are shown at most.
const firstLineRunes = 200

// firstLine is the first line of the run's input: of the first user message in the first segment of
// its journal, or of the inbox before there is one. It is empty for a retry, which continues with
// the input of the run before, for an input without text, and for a long input that is not in the
// journal yet: a list does not read its payload for this.
func firstLine(p journal.Place, found map[int64]core.Segment) string {
	if p.Record.RetryOf != "" {
		return ""
	}
	if p.Record.Seq <= p.Record.Seq0 {
		var parts []core.Part
		if json.Unmarshal(p.Head.Inbox[core.KeyStart].Value, &parts) != nil {
			return ""
		}
		return firstLineOf(parts)
	}
	for _, m := range found[p.Record.Seq0+1].Messages {
		if m.Role == core.RoleUser {
			return firstLineOf(m.Parts)
		}
	}
	return ""
}

// FirstLine is the first line of the input of a run whose journal begins with a segment.
func FirstLine(p journal.Place, begin core.Segment) string {
	return firstLine(p, map[int64]core.Segment{p.Record.Seq0 + 1: begin})
}

// firstLineOf is the first line that is not blank in the texts of a message, without the space
// around it.
func firstLineOf(parts []core.Part) string {
	for _, part := range parts {
		if part.Type != core.PartText {
			continue
		}
		line := strings.TrimSpace(part.Text)
		if i := strings.IndexAny(line, "\n\r\v\f\u0085\u2028\u2029"); i >= 0 {
			line = line[:i]
		}
		if line = strings.TrimSpace(firstRunes(line, firstLineRunes)); line != "" {
			return line
		}
	}
	return ""
}

// firstRunes is the beginning of a text, at most n characters long.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
