package runs

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) watchCommand() *cobra.Command {
	var of watching
	var all bool
	var agent string
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow one run, or the suspensions, decisions and ends of all runs",
		Long: `With RUN, show what the run does from its start until it needs a decision or is done.
Without RUN, show new suspensions, decisions and ends of all runs, and the number of
waiting calls, until you press Ctrl-C.

With --tree, the events of the runs that RUN starts are shown as well, each behind the path
of its run, such as "researcher/call_1": the agent, and the call that it works for. With
--json, that is the member "path".

On a terminal, events are described in words and the model's text appears as it streams.
Elsewhere, each event is one line, or one JSON value with --json; without --json, the
model's text appears once it is committed. Invisible characters in text from models and
tools are shown as escapes such as \x1b. Set NO_COLOR=1 to turn colors off.`,
		Example: `  dormouse watch
  dormouse watch --agent refund-desk --json
  dormouse watch run_3k7q2_0
  dormouse watch run_3k7q2_0 --tree
  dormouse watch run_3k7q2_0 --follow --json`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && (of.follow || of.tree):
				return cmdline.Usagef("--follow and --tree need a run; without one, watch shows all runs until it is interrupted")
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
			run, err := a.watch(cmd.Context(), c, args[0], watching{of.follow, of.tree, of.tree})
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
	flags.BoolVar(&of.follow, "follow", false, "continue while the run waits, until it is done")
	flags.BoolVar(&of.tree, "tree", false, "with RUN: also show the runs that it starts, each event behind the path of its run")
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

// watching says what of a run to show, and for how long.
type watching struct {
	follow bool // also while it waits, until it is done
	below  bool // the runs below, too
	tree   bool // the runs below from the beginning, and no live text
}

// watch prints events until the run is done or, unless it is followed, needs an answer, and returns
// the run as it is then. A stream ends when the run waits, also for the runs that it has started:
// then those are looked at.
func (a *app) watch(ctx context.Context, c *client.Client, id string, w watching) (wire.Run, error) {
	view := a.newView()
	root := &member{run: id}
	t := &tree{client: c, members: []*member{root}, show: view.showInTree}
	if !w.tree {
		err := each(c.Events(ctx, id, client.EventOptions{Follow: w.follow}), func(e wire.Event) error {
			root.after = cmp.Or(e.Cursor, root.after)
			t.note(e, nil)
			return view.show(e)
		})
		if err = errors.Join(err, view.end()); err != nil {
			return wire.Run{}, err
		}
	}
	if w.tree || len(t.members) > 1 {
		if t.alone = !w.below; t.alone {
			t.members = t.members[:1]
		}
		if err := t.follow(ctx, w.follow); err != nil {
			return wire.Run{}, err
		}
	}
	return c.Run(ctx, id)
}
