package cmdline

import (
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// Progress reports the progress of this invocation on standard error; nil with --json.
func (a *App) Progress() *display.Progress {
	if a.JSON {
		return nil
	}
	s := display.ScreenOf(a.Stderr, a.Opts.Getenv)
	return display.NewProgress(a.Stderr, s.Terminal && !s.Dumb, s.Width, a.Opts.Now)
}
