// Package inbox has the verbs of approvers: list what waits, walk through it on the terminal,
// decide, and read decisions.
package inbox

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Commands are the verbs, for the tree of the program's commands.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.approvalsCommand(), a.decideCommand(), a.decisionsCommand()}
}
