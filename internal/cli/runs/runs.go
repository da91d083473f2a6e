package runs

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) runsCommand() *cobra.Command {
	var list client.RunFilter
	var filters runFilters
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List, show, cancel or record runs",
		Long:  `List runs, newest first. With RUN, show that run. Commands cancel and record a run.`,
		Example: `  dormouse runs
  dormouse runs --status waiting --limit 5
  dormouse runs --reason error --created-after 2026-03-01T00:00:00Z --metadata order=A-17
  dormouse runs run_3k7q2_0
  dormouse runs cancel run_3k7q2_0
  dormouse runs record run_3k7q2_0 refunds.jsonl`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.showRun(cmd, args[0])
			}
			if err := filters.read(&list); err != nil {
				return err
			}
			return a.listRuns(cmd, list)
		},
	}
	filters.add(cmd.Flags(), &list)
	cmd.AddCommand(a.cancelCommand(), a.recordCommand())
	return cmd
}

func (a *app) showRun(cmd *cobra.Command, id string) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	run, err := c.Run(cmd.Context(), id)
	if err != nil {
		return err
	}
	return a.PrintRun(run)
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Cancel a run",
		Long:    "Cancel a run. It ends at its next commit, and every open call gets a result that says so.",
		Example: "  dormouse runs cancel run_3k7q2_0",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if _, err := c.Cancel(cmd.Context(), args[0]); err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]string{"run_id": args[0], "code": "accepted"})
			}
			return a.Printf("accepted: %s will end as cancelled\n", args[0])
		},
	}
}

// finish shows a run that was started or got a message. If wait is set, it waits first.
func (a *app) finish(cmd *cobra.Command, c *client.Client, run wire.Run, wait bool) error {
	if wait {
		id := run.ID
		a.listen(cmd.Context(), c, id)
		var err error
		if run, err = a.Settled(cmd.Context(), c, id); err != nil {
			return a.butStarted(id, err)
		}
	}
	if err := a.PrintRun(run); err != nil {
		return err
	}
	return cmdline.Ended(run)
}
