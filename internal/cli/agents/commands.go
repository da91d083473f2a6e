// Package agents has the commands for agent files: create, check, test and deploy agents, and
// import tools.
package agents

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.newCommand(), a.agentsCommand(), a.toolsCommand()}
}
