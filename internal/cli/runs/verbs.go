// Package runs has the verbs about runs: start one, list, follow, steer and record them.
package runs

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Commands are the verbs, for the tree of the program's commands.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.runCommand(), a.runsCommand(), a.watchCommand(), a.messagesCommand(), a.interruptCommand(), a.resumeCommand(), a.retryCommand()}
}
