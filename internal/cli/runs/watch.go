package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) watchCommand() *cobra.Command {
	var follow, all bool
	var agent string
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow what a run does, or suspensions, decisions and run ends of all runs",
		Long: `Without a run: show new suspensions, decisions and run ends of all runs, and how many calls wait, until interrupted (Ctrl-C).

With a run: show what the run does, from its beginning until it waits for an answer or is done. On a terminal events are described in words;
elsewhere each event is a line of its own, and with --json one JSON value. What a model is saying is shown while it says so on a terminal, and
with --json as events; elsewhere once it is committed. Text of models and tools is shown with whatever would not show written as an
escape, such as \x1b. Colours can be turned off with NO_COLOR=1.`,
		Example: `  dormouse watch
  dormouse watch --agent refund-desk --json
  dormouse watch run_3k7q2_0
  dormouse watch run_3k7q2_0 --follow --json`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && follow:
				return cmdline.Usagef("--follow needs a run; without one, watch continues until it is interrupted")
			case len(args) == 1 && (agent != "" || all):
				return cmdline.Usagef("--agent and --all apply to all runs; remove the run or the flag")
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.watchAll(cmd.Context(), c, agent, all)
			}
			run, err := a.watch(cmd.Context(), c, args[0], follow)
			if err != nil {
				return err
			}
			if err := a.printPending(run); err != nil {
				return err
			}
			return cmdline.Ended(run)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&follow, "follow", false, "go on while the run waits, until it is done")
	flags.StringVar(&agent, "agent", "", "without a run: only runs of this agent")
	flags.BoolVar(&all, "all", false, "without a run: start with the oldest event instead of new ones")
	return cmd
}

// printPending shows people how to answer what a run waits for; programs read it from the run.
func (a *app) printPending(run wire.Run) error {
	if a.JSON {
		return nil
	}
	var rows [][]string
	for _, p := range run.Pending {
		rows = append(rows, a.PendingRows(run.ID, p)...)
	}
	return a.Table(rows)
}

// watch prints events until the run is done or, unless follow is set, waits, and returns the run as
// it is then.
func (a *app) watch(ctx context.Context, c *client.Client, id string, follow bool) (wire.Run, error) {
	view := a.newView()
	_, err := c.Follow(ctx, id, "", follow, view.show)
	if err = errors.Join(err, view.end()); err != nil {
		return wire.Run{}, err
	}
	return c.Run(ctx, id, 0)
}
