package display

import (
	"slices"
	"strings"
)

const (
	gap      = 2  // blanks between columns
	narrowed = 10 // a column is not cut below so many characters
)

// DrawTable is the table as clean text.
func DrawTable(rows [][]string, s Screen, cuttable []int) string {
	cells := make([][]string, len(rows))
	var widths []int
	for i, row := range rows {
		cells[i] = make([]string, len(row))
		for n, cell := range row {
			cells[i][n] = Clean(cell)
			if n == len(widths) {
				widths = append(widths, 0)
			}
			widths[n] = max(widths[n], Wide(cells[i][n]))
		}
	}
	narrow(widths, s.Width, cuttable)
	var b strings.Builder
	for _, row := range cells {
		var drawn strings.Builder
		for n, cell := range row {
			if slices.Contains(cuttable, n) {
				cell = cut(cell, widths[n])
			}
			drawn.WriteString(cell + strings.Repeat(" ", max(widths[n]-Wide(cell), 0)+gap))
		}
		b.WriteString(strings.TrimRight(drawn.String(), " ") + "\n")
	}
	return b.String()
}

// narrow takes from the widest of the columns that may be cut, until a row fits or none can give
// any more.
func narrow(widths []int, room int, cuttable []int) {
	if room == 0 {
		return
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := -1
		for _, n := range cuttable {
			if n < len(widths) && widths[n] > narrowed && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}
