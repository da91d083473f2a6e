package runs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func (a *app) runCommand() *cobra.Command {
	var thread, key, metadata, onPending, permissions string
	var after afterStart
	var noMemory bool
	var files cmdline.InputFiles
	cmd := &cobra.Command{
		Use:   "run AGENT INPUT",
		Short: "Start a run",
		Long: `Start a run of an agent. INPUT is the user's message; - reads it from standard input.

--wait waits until the run needs a decision or is done, then shows it. --watch also shows
what the run does meanwhile, like dormouse watch. --record also waits, and when the run
is done it appends the conversation to a file for dormouse-proof replay and the model
provider "recorded".

--image and --document attach files; the type of a file follows from its extension.
--permissions narrows what the agent may do in this run. With --key, starting again with
the same key and input returns the first run.`,
		Example: `  dormouse run refund-desk "Refund order A-17, it arrived broken" --wait
  dormouse run refund-desk "Refund order A-17" --watch
  dormouse run refund-desk "Is this the cup of order A-17?" --image cup.jpg --document order.pdf
  dormouse run refund-desk "Refund order A-17" --record refunds.jsonl
  dormouse run refund-desk "Refund order A-17" --key ticket-4711`,
		Args: cmdline.TakesText(2, 2, "the input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.text(args[1])
			if err != nil {
				return err
			}
			if input, err = files.With(input); err != nil {
				return err
			}
			if err := CanRecord(after.record); err != nil {
				return err
			}
			req := wire.StartRequest{Agent: args[0], Input: input, ThreadID: thread, OnPending: onPending}
			if req.Metadata, err = cmdline.JsonFlag("--metadata", metadata); err != nil {
				return err
			}
			if req.Permissions, err = cmdline.JsonOrFile("--permissions", permissions); err != nil {
				return err
			}
			if noMemory {
				req.Memory = new(bool)
			}
			return a.start(cmd, req, key, after)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&thread, "thread", "", "continue this `THREAD` instead of starting a new one")
	flags.StringVar(&key, "key", "", "idempotency `KEY`: the same key starts only one run")
	flags.StringVar(&metadata, "metadata", "", "`JSON` object stored with the run")
	flags.StringVar(&onPending, "on-pending", "", onPendingFlag)
	flags.StringVar(&permissions, "permissions", "", "narrow the agent's permissions for this run, as `JSON` or @FILE")
	flags.BoolVar(&noMemory, "no-memory", false, "don't let this run read or write the agent's memory")
	flags.BoolVar(&after.wait, "wait", false, "wait until the run needs a decision or is done")
	flags.BoolVar(&after.watch, "watch", false, "wait, and show what the run does meanwhile; with --json, one event per line")
	flags.StringVar(&after.record, "record", "", "wait, and append the conversation to this `FILE` when the run is done")
	files.Flags(flags)
	return cmd
}

// afterStart is what to do after the start of a run.
type afterStart struct {
	wait, watch bool
	// file that the conversation is added to when the run is done; "" for none
	record string
}

func (a *app) start(cmd *cobra.Command, req wire.StartRequest, key string, after afterStart) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	run, err := c.StartRun(cmd.Context(), req, key)
	if err != nil {
		return cmdline.NamesAgents(cmd.Context(), c, req.Agent, err)
	}
	if after.watch {
		err = a.watchStarted(cmd.Context(), c, run)
	} else {
		err = a.finish(cmd, c, run, after.wait || after.record != "")
	}
	if after.record != "" {
		a.recordFinished(cmd.Context(), c, run.ID, after.record)
	}
	return err
}

// watchStarted follows a run that was just started. It prints the id first, so that it is known if
// the command is interrupted. Programs read it from every event.
func (a *app) watchStarted(ctx context.Context, c *client.Client, started wire.Run) error {
	if !a.JSON {
		if err := a.Table([][]string{{"run", started.ID}, {"thread", started.ThreadID}}); err != nil {
			return err
		}
	}
	run, err := a.watch(ctx, c, started.ID, watching{below: true})
	if err != nil {
		return a.butStarted(started.ID, err)
	}
	return errors.Join(a.printPending(run), cmdline.Ended(run))
}

// butStarted adds the id of the started run to a later error.
func (a *app) butStarted(id string, err error) error {
	f := a.Failure(err)
	return cmdline.Fail(f.Exit, f.Code, "run "+id+" was started, but: "+f.Detail)
}

// text is an argument as a JSON string; - reads standard input.
func (a *app) text(arg string) (json.RawMessage, error) {
	if arg == "-" {
		body, err := io.ReadAll(a.Stdin)
		if err != nil {
			return nil, err
		}
		arg = strings.TrimRight(string(body), "\n")
	}
	if strings.TrimSpace(arg) == "" {
		return nil, cmdline.Usagef("the input is empty; pass the user's message, or - to read it from standard input")
	}
	return core.EncodeAny(arg)
}

const onPendingFlag = "`ACTION` if the thread has an unfinished run: refuse (the default), abandon its waiting calls, or queue the message"
