package runs

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) interruptCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "interrupt RUN",
		Short: "Pause a run",
		Long: `Pause a run at its next commit. It continues where it stopped when you run resume or send
a message to its thread. Interrupting a paused run changes nothing.`,
		Example: "  dormouse interrupt run_3k7q2_0",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			run, err := c.Interrupt(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(run)
			}
			return a.Printf("accepted: %s will pause; to continue it: %s\n", run.ID, a.Command("resume "+run.ID))
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`: the same key interrupts only once")
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var req wire.ResumeRequest
	cmd := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Resume an interrupted run",
		Long:    "Resume an interrupted run. For a run that waits for anything else, use decide.",
		Example: "  dormouse resume run_3k7q2_0",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			answer, err := c.Resume(cmd.Context(), args[0], req)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(answer)
			}
			if answer.Code == "already_decided" {
				return a.Printf("already resumed: %s\n", args[0])
			}
			return a.Printf("accepted: %s continues\n", args[0])
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason `TEXT`, stored in the journal")
	cmd.Flags().StringVar(&req.DecisionID, "id", "", "decision id, an idempotency `KEY`: the same id is the same decision")
	return cmd
}

func (a *app) retryCommand() *cobra.Command {
	var key string
	var wait bool
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Retry a run that failed or was stopped",
		Long: `Start a new run that continues where a run ended in error or was stopped by a rule. It
has fresh budgets and uses the newest version of the agent. Only the newest run of a
thread can be retried. Retrying the same run again returns the run that the first retry
started.`,
		Example: "  dormouse retry run_3k7q2_0 --wait",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			run, err := c.Retry(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			return a.finish(cmd, c, run, wait)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`: the same key is the same retry (default: the run id)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the run needs a decision or is done")
	return cmd
}
