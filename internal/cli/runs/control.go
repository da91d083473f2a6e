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
		Long: `Pause a run after its next commit. What it was about to do is done when it goes on: with resume, or with a message to its
thread. Pausing one that is paused changes nothing.`,
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
			return a.Printf("accepted: %s will pause; it goes on with: %s\n", run.ID, a.Command("resume "+run.ID))
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: the same key pauses once")
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var req wire.ResumeRequest
	cmd := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Let an interrupted run go on",
		Long:    "Let an interrupted run go on. A run that waits for something else is answered with decide.",
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
			return a.Printf("accepted: %s goes on\n", args[0])
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, kept in the journal")
	cmd.Flags().StringVar(&req.DecisionID, "id", "", "key of this decision: the same key is the same decision")
	return cmd
}

func (a *app) retryCommand() *cobra.Command {
	var key string
	var wait bool
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Go on after a run that ended in error or was stopped",
		Long: `Start a run that goes on where one ended in error, or was stopped by a rule, with fresh budgets and the newest version of the agent.
Only the newest run of a thread can be retried. Repeated, it shows the run that the first retry started.`,
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
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: the same key is the same retry (default: the run is the key)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the run waits for an answer or is done")
	return cmd
}
