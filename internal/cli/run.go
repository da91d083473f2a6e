package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func (a *app) runCommand() *cobra.Command {
	var thread, key, metadata, onPending, permissions string
	var after afterStart
	var noMemory bool
	var files inputFiles
	cmd := &cobra.Command{
		Use:   "run AGENT INPUT",
		Short: "Start a run",
		Long: `Start a run of an agent with a text as its input; - reads the text from standard input.
With the same --key and the same input, a second start finds the first run. --permissions take away from what the agent may do, for this run.
--image and --document add files to the input; what a file is, its ending says. --watch shows what the run does until it waits for an answer or is
done, as dormouse watch does; --wait shows the run as it is then. --record waits, too, and when the run is done it adds the conversation to a file
that dormouse replay and the model provider "recorded" read.`,
		Example: `  dormouse run refund-desk "Refund order A-17, it arrived broken" --wait
  dormouse run refund-desk "Refund order A-17" --watch
  dormouse run refund-desk "Is this the cup of order A-17?" --image cup.jpg --document order.pdf
  dormouse run refund-desk "Refund order A-17" --record refunds.jsonl
  dormouse run refund-desk "Refund order A-17" --key ticket-4711`,
		Args: takesText(2, 2, "the input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.text(args[1])
			if err != nil {
				return err
			}
			if input, err = files.with(input); err != nil {
				return err
			}
			if err := canRecord(after.record); err != nil {
				return err
			}
			req := wire.StartRequest{Agent: args[0], Input: input, ThreadID: thread, OnPending: onPending}
			if req.Metadata, err = jsonFlag("--metadata", metadata); err != nil {
				return err
			}
			if req.Permissions, err = jsonOrFile("--permissions", permissions); err != nil {
				return err
			}
			if noMemory {
				req.Memory = new(bool)
			}
			return a.start(cmd, req, key, after)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&thread, "thread", "", "go on in this thread instead of a new one")
	flags.StringVar(&key, "key", "", "idempotency key: the same key starts one run")
	flags.StringVar(&metadata, "metadata", "", "JSON object kept with the run")
	flags.StringVar(&onPending, "on-pending", "", onPendingFlag)
	flags.StringVar(&permissions, "permissions", "", "what this run may not do, beside what the agent may not, as JSON or @FILE")
	flags.BoolVar(&noMemory, "no-memory", false, "neither remember this run nor let it remember")
	flags.BoolVar(&after.wait, "wait", false, "wait until the run waits for an answer or is done")
	flags.BoolVar(&after.watch, "watch", false, "wait, and show what the run does meanwhile; with --json one event a line")
	flags.StringVar(&after.record, "record", "", "wait, and add the conversation to this file when the run is done")
	files.flags(flags)
	return cmd
}

// afterStart is what to do once the run is started.
type afterStart struct {
	wait, watch bool
	record      string // file that the conversation is added to when the run is done; "" for none
}

func (a *app) start(cmd *cobra.Command, req wire.StartRequest, key string, after afterStart) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	run, err := c.StartRun(cmd.Context(), req, key)
	if err != nil {
		return namesAgents(cmd.Context(), c, req.Agent, err)
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

// watchStarted follows a run that was just started. Its id comes first, so that it is known if the
// command is interrupted; programs read it from every event.
func (a *app) watchStarted(ctx context.Context, c *client.Client, started wire.Run) error {
	if !a.json {
		if err := a.table([][]string{{"run", started.ID}, {"thread", started.ThreadID}}); err != nil {
			return err
		}
	}
	run, err := a.watch(ctx, c, started.ID, false)
	if err != nil {
		return a.butStarted(started.ID, err)
	}
	return errors.Join(a.printPending(run), ended(run))
}

// butStarted says of an error that came after the start which run there is.
func (a *app) butStarted(id string, err error) error {
	f := a.failure(err)
	return &failure{f.exit, f.code, "the run is " + id + ", but: " + f.detail}
}

// text is an argument as JSON text; - stands for standard input.
func (a *app) text(arg string) (json.RawMessage, error) {
	if arg == "-" {
		body, err := io.ReadAll(a.stdin)
		if err != nil {
			return nil, err
		}
		arg = strings.TrimRight(string(body), "\n")
	}
	if strings.TrimSpace(arg) == "" {
		return nil, usagef("the input is empty")
	}
	return core.EncodeAny(arg)
}

const onPendingFlag = "what to do if the thread's run is not done: refuse (the default), abandon what it waits for, or queue behind it"

// jsonOrFile is jsonFlag for a value that may also be @ and the name of a file that holds it.
func jsonOrFile(name, value string) (json.RawMessage, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return jsonFlag(name, value)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("%s cannot be read: %v", name, err)
	}
	if err := notJSON(body); err != nil {
		return nil, usagef("%s is not JSON: the file %s: %v", name, file, err)
	}
	return json.RawMessage(body), nil
}

// jsonFlag checks that a flag's value is JSON; "" is no value.
func jsonFlag(name, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	if err := notJSON([]byte(value)); err != nil {
		return nil, usagef("%s is not JSON: %s: %v%s", name, value, err, after("; in a shell it looks like ", lookingLike[name]))
	}
	return json.RawMessage(value), nil
}

// lookingLike are values of flags as a shell takes them.
var lookingLike = map[string]string{
	"--arguments":   `'{"amount":80}'`,
	"--result":      `'{"temperature":21}', and a text like '"sunny"'`,
	"--metadata":    `'{"ticket":4711}'`,
	"--permissions": `'{"deny":["send_refund"]}'`,
}

// notJSON says where a text stops being JSON; nil if it is.
func notJSON(text []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w, at character %d", err, utf8.RuneCount(text[:min(int(at.Offset), len(text))]))
	}
	return err
}
