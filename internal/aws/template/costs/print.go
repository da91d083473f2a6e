package costs

import (
	"fmt"
	"strings"
)

// Table shows a bill as a table of Markdown.
func (b Bill) Table() string {
	var out strings.Builder
	for _, part := range []struct {
		name string
		rows []Row
	}{{"idle, a month", b.Idle}, {"1,000 runs of ten steps", b.Runs}, {"1,000 approvals", b.Approvals}} {
		fmt.Fprintf(&out, "|%s|number|unit|dollars|\n|---|---|---|---|\n", part.name)
		for _, r := range part.rows {
			fmt.Fprintf(&out, "|%s|%s|%s|%.3f|\n", r.What, grouped(r.Number), r.Unit, r.Dollars)
		}
		fmt.Fprintf(&out, "|together|||%.2f|\n\n", Sum(part.rows))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// grouped is a number without decimals, with commas.
func grouped(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
