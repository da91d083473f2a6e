// Package runs has the commands for runs: start, list, follow, control and record them.
package runs

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.runCommand(), a.runsCommand(), a.watchCommand(), a.messagesCommand(), a.usageCommand(), a.interruptCommand(), a.resumeCommand(), a.retryCommand()}
}
