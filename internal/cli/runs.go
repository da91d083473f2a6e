package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

func (a *app) runsCommand() *cobra.Command {
	var list client.List
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List runs, newest first, show one, cancel or record one",
		Example: `  dormouse runs
  dormouse runs --status waiting --limit 5
  dormouse runs run_3k7q2_0
  dormouse runs cancel run_3k7q2_0
  dormouse runs record run_3k7q2_0 refunds.jsonl`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.showRun(cmd, args[0])
			}
			if err := pageLimit(list.Limit, mostRuns); err != nil {
				return err
			}
			return a.listRuns(cmd, list)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&list.Status, "status", "", "only runs that are created, running, waiting or done")
	flags.StringVar(&list.Agent, "agent", "", "only runs of this agent")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("at most so many; %d is the most", mostRuns))
	flags.StringVar(&list.Cursor, "cursor", "", "go on where an earlier page ended")
	cmd.AddCommand(a.cancelCommand(), a.recordCommand())
	return cmd
}

func (a *app) showRun(cmd *cobra.Command, id string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	run, err := c.Run(cmd.Context(), id, 0)
	if err != nil {
		return err
	}
	return a.printRun(run)
}

func (a *app) listRuns(cmd *cobra.Command, list client.List) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	page, err := c.Runs(cmd.Context(), list)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.printf("no runs\n")
	}
	if err := a.listed(page.Items); err != nil {
		return err
	}
	return a.printMore("runs", list, page.Next)
}

// listed prints runs as a table, on a terminal one that fits into 80 columns.
func (a *app) listed(runs []wire.Run) error {
	terminal := screenOf(a.stdout, a.opts.Getenv).terminal
	rows := [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "PENDING", "CREATED"}}
	if terminal {
		rows = [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "WAITS", "AGE"}}
	}
	for _, run := range runs {
		created := clock(run.CreatedAt)
		if terminal {
			created = age(run.CreatedAt, a.now())
		}
		rows = append(rows, []string{run.ID, run.Agent, statusText(run), strconv.Itoa(run.Steps), strconv.Itoa(len(run.Pending)), created})
	}
	return a.list(rows, 1, 2)
}

// printMore says how to see the rest of a list: the same command, with the cursor.
func (a *app) printMore(verb string, list client.List, next string) error {
	if next == "" {
		return nil
	}
	if list.Status != "" {
		verb += " --status " + list.Status
	}
	if list.Agent != "" {
		verb += " --agent " + list.Agent
	}
	return a.printf("more: %s --limit %d --cursor %s\n", a.command(verb), list.Limit, next)
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Cancel a run",
		Long:    "Cancel a run. The run ends at its next commit; calls that are still open are closed with a result.",
		Example: "  dormouse runs cancel run_3k7q2_0",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			if err := c.Cancel(cmd.Context(), args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"run_id": args[0], "code": "accepted"})
			}
			return a.printf("accepted: %s will end as cancelled\n", args[0])
		},
	}
}

// finish shows a run that was started or spoken to, after waiting for it if asked to.
func (a *app) finish(cmd *cobra.Command, c *client.Client, run wire.Run, wait bool) error {
	if wait {
		id := run.ID
		a.listen(cmd.Context(), c, id)
		var err error
		if run, err = a.settled(cmd.Context(), c, id); err != nil {
			return a.butStarted(id, err)
		}
	}
	if err := a.printRun(run); err != nil {
		return err
	}
	return ended(run)
}
