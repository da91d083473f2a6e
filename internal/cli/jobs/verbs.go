// Package jobs has the verb of pipelines, enqueue: it adds lines to the intake queue and shows what
// became of them.
package jobs

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Commands are the verbs, for the tree of the program's commands.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.enqueueCommand()}
}
