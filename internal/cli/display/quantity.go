package display

import (
	"fmt"
	"strconv"
	"time"
)

// Counted is a number with its noun.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Brief is a name from outside that fits into a column.
func Brief(name string) string {
	if name == "" {
		return "-"
	}
	const most = 40
	if runes := []rune(OneLine(name)); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return OneLine(name)
}

// Listed is a list of names, and how many more there are.
func Listed(names []string) string {
	const most = 5
	words := ""
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			words += ", "
		}
		words += name
	}
	if len(names) > most {
		words += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return words
}

func perSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return Thousands(int(rate+0.5)) + "/s"
}

// Lasting is a duration in the two largest units that say something: "28 s", "1h 50m", "3d 4h".
func Lasting(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch minutes, hours, days := seconds/60, seconds/3600, seconds/86400; {
	case seconds < 60:
		return fmt.Sprintf("%d s", max(seconds, 0))
	case hours < 1:
		return fmt.Sprintf("%dm %02ds", minutes, seconds%60)
	case days < 1:
		return fmt.Sprintf("%dh %02dm", hours, minutes%60)
	default:
		return fmt.Sprintf("%dd %dh", days, hours%24)
	}
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	text, sign := strconv.Itoa(n), ""
	if n < 0 {
		text, sign = text[1:], "-"
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
