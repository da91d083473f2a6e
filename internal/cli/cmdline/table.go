package cmdline

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// Table prints rows with their columns aligned. Every cell is one line. Cells are not cut, so that
// they can be copied.
func (a *App) Table(rows [][]string) error {
	return a.Printf("%s", display.DrawTable(rows, display.Screen{}, nil))
}

// List prints a table whose first row is its heading. On a terminal, cells of the cuttable columns
// are shortened until each row fits on a line.
func (a *App) List(rows [][]string, cuttable ...int) error {
	s := display.ScreenOf(a.Stdout, a.Opts.Getenv)
	drawn := display.DrawTable(rows, s, cuttable)
	if heading, rest, ok := strings.Cut(drawn, "\n"); ok && s.Terminal {
		return a.Print(display.Line{{Style: display.Bold, Text: heading}}.Render(s.Colour) + "\n" + rest)
	}
	return a.Print(drawn)
}
