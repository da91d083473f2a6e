// Package cli is the dormouse command: the tree of its verbs. Those of a server, its tokens and its
// store are here; the others are in the packages below. It holds no rules of its own: what may be
// started, decided or cancelled is the server's to say.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/agents"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/inbox"
	"github.com/dormouse-dev/dormouse/internal/cli/jobs"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
)

// Main runs the command that args name (without the program's name) until it is finished or ctx
// ends, and returns the exit code, as [cmdline.App.Execute] does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts cmdline.Options) int {
	a := &app{cmdline.New(stdin, stdout, stderr, opts)}
	return a.Execute(ctx, a.root(), args)
}

const exitCodes = `  0  done as asked; a run that still works or waits counts as that,
     and one that ended blocked or stopped
  1  it failed: the run ended in error, the decision was refused, agents check or agents test found
     something wrong, doctor damage, agents diff a waiting run that is affected,
     enqueue --keep-going left lines out, new found a file in its way, the server answered
     with an error or could not start, or the command was interrupted
  2  wrong usage: unknown command or flag, missing argument, a value that the server does not take,
     an agent that is not there, approvals -i without a terminal; nothing was changed
  3  no server answers at the address`

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

func (a *app) root() *cobra.Command {
	root := a.Root("Run agents that sleep while they wait", `Dormouse runs agents one step at a time. A run that needs a person is written down
and nothing stays in memory; the decision wakes it where it was.`, exitCodes)
	root.AddCommand(a.devCommand(), a.serveCommand(), a.tokensCommand(), a.doctorCommand())
	root.AddCommand(runs.Commands(a.App)...)
	root.AddCommand(inbox.Commands(a.App)...)
	root.AddCommand(agents.Commands(a.App)...)
	root.AddCommand(jobs.Commands(a.App)...)
	root.AddCommand(a.completionCommand(root))
	a.completeAll(root)
	a.explainAll(root)
	return root
}
