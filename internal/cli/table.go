package cli

import (
	"slices"
	"strings"
)

const (
	gap      = 2  // blanks between columns
	narrowed = 10 // a column is not cut below so many characters
)

// table prints rows with their columns aligned. Every cell is one line, and whole: what may be copied is not cut.
func (a *app) table(rows [][]string) error {
	return a.printf("%s", drawTable(rows, screen{}, nil))
}

// list prints a table whose first row is its heading. On a terminal the cells of the columns that may be cut become as short as it takes for a row to be a line.
func (a *app) list(rows [][]string, cuttable ...int) error {
	s := screenOf(a.stdout, a.opts.Getenv)
	drawn := drawTable(rows, s, cuttable)
	if heading, rest, ok := strings.Cut(drawn, "\n"); ok && s.terminal {
		return a.print(line{{bold, heading}}.render(s.colour) + "\n" + rest)
	}
	return a.print(drawn)
}

// drawTable is the table as clean text.
func drawTable(rows [][]string, s screen, cuttable []int) string {
	cells := make([][]string, len(rows))
	var widths []int
	for i, row := range rows {
		cells[i] = make([]string, len(row))
		for n, cell := range row {
			cells[i][n] = clean(cell)
			if n == len(widths) {
				widths = append(widths, 0)
			}
			widths[n] = max(widths[n], wide(cells[i][n]))
		}
	}
	narrow(widths, s.width, cuttable)
	var b strings.Builder
	for _, row := range cells {
		var drawn strings.Builder
		for n, cell := range row {
			if slices.Contains(cuttable, n) {
				cell = cut(cell, widths[n])
			}
			drawn.WriteString(cell + strings.Repeat(" ", max(widths[n]-wide(cell), 0)+gap))
		}
		b.WriteString(strings.TrimRight(drawn.String(), " ") + "\n")
	}
	return b.String()
}

// narrow takes from the widest of the columns that may be cut, until a row fits or none can give any more.
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
