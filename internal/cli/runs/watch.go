package runs

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) watchCommand() *cobra.Command {
	var follow, all bool
	var agent string
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow one run, or the suspensions, decisions and ends of all runs",
		Long: `With RUN, show what the run does from its start until it needs a decision or is done.
Without RUN, show new suspensions, decisions and ends of all runs, and the number of
waiting calls, until you press Ctrl-C.

On a terminal, events are described in words and the model's text appears as it streams.
Elsewhere, each event is one line, or one JSON value with --json; without --json, the
model's text appears once it is committed. Invisible characters in text from models and
tools are shown as escapes such as \x1b. Set NO_COLOR=1 to turn colors off.`,
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
	flags.BoolVar(&follow, "follow", false, "continue while the run waits, until it is done")
	flags.StringVar(&agent, "agent", "", "without RUN: only runs of this `AGENT`")
	flags.BoolVar(&all, "all", false, "without RUN: start with the oldest event instead of new ones")
	return cmd
}

// each passes events to show, until there are no more or one of both fails.
func each(events iter.Seq2[wire.Event, error], show func(wire.Event) error) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}

// printPending shows people how to answer what a run waits for; programs read it from the run.
func (a *app) printPending(run wire.Run) error {
	if a.JSON {
		return nil
	}
	var rows [][]string
	for _, p := range run.Pending {
		rows = append(rows, a.PendingRows(run.ID, run.Agent, p)...)
	}
	return a.Table(rows)
}

// watch prints events until the run is done or, unless follow is set, waits, and returns the run as
// it is then.
func (a *app) watch(ctx context.Context, c *client.Client, id string, follow bool) (wire.Run, error) {
	view := a.newView()
	err := each(c.Events(ctx, id, client.EventOptions{Follow: follow}), view.show)
	if err = errors.Join(err, view.end()); err != nil {
		return wire.Run{}, err
	}
	return c.Run(ctx, id)
}
