package display

import (
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// InQuotes is a text of others behind a blank, in parentheses and quotes; nothing if it is empty.
func InQuotes(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", OneLine(text))
}

// timeFormat is how plain output shows a time: to the second, in UTC.
const timeFormat = "2006-01-02 15:04:05Z"

// Labelled are rows with a label before the first.
func Labelled(label string, lines []string) (rows [][]string) {
	for _, l := range lines {
		rows = append(rows, []string{label, l})
		label = ""
	}
	return rows
}

// Clock is a time to the second, in UTC; "-" for none.
func Clock(t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(timeFormat)
}

// OneLine keeps text on one line, so that a table stays one.
func OneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// Age is how long ago t was, for a person; "" if that is not known.
func Age(t wire.Time, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Lasting(max(now.Sub(t.Time), 0))
}

// UntilDeadline says how long is left, for the end of a sentence.
func UntilDeadline(at, now time.Time) string {
	if left := at.Sub(now); left > 0 {
		return ", deadline in " + Lasting(left)
	}
	return ", its deadline was " + at.UTC().Format(timeFormat)
}

// After is words behind a link, or nothing.
func After(link, words string) string {
	if words == "" {
		return ""
	}
	return link + words
}

// Margin is the indentation of text after a time.
const Margin = len(time.TimeOnly) + 2

// Shorten cuts text after limit characters and says how many are missing.
func Shorten(text string, limit int) string {
	chars := []rune(text)
	if len(chars) <= limit {
		return text
	}
	return fmt.Sprintf("%s... (%d more)", string(chars[:limit]), len(chars)-limit)
}
