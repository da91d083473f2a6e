package cmdline

import (
	"github.com/spf13/cobra"
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:     "exit-codes",
		Short:   "What the exit codes mean",
		Example: "  dormouse help exit-codes",
		Long: `Exit codes:
  0  done as asked; a run that still works or waits counts as that,
     and one that ended blocked or stopped
  1  it failed: the run ended in error, the decision was refused, agents check or agents test found
     something wrong, doctor damage, agents diff a waiting run that is affected, the replay a mismatch,
     enqueue --keep-going left lines out, new found a file in its way, the server answered
     with an error or could not start, or the command was interrupted
  2  wrong usage: unknown command or flag, missing argument, a value that the server does not take,
     an agent that is not there, approvals -i without a terminal, a recording to replay that is none;
     nothing was changed
  3  no server answers at the address
  4  torture found a promise broken: something that was acknowledged is not there,
     is there twice, or was done without leave

With --json the reason is on stderr as {"error":{"code":"...","detail":"..."}}; a warning is a line
{"warning":{...}} before it.`,
	}
}
