// Package inbox has the commands for approvers: list waiting calls, decide them, on the command
// line or in an interactive inbox, withdraw held decisions, and list decisions.
package inbox

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.approvalsCommand(), a.decideCommand(), a.withdrawCommand(), a.decisionsCommand()}
}
