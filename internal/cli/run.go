package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/wire"
)

func (a *app) runCommand() *cobra.Command {
	var thread, key, metadata, onPending string
	var wait bool
	cmd := &cobra.Command{
		Use:   "run AGENT INPUT",
		Short: "Start a run",
		Long: `Start a run of an agent with a text as its input; - reads the text from standard input.
With the same --key and the same input, a second start finds the first run.`,
		Example: `  dormouse run refund-desk "Refund order A-17, it arrived broken" --wait
  dormouse run refund-desk "Refund order A-17" --key ticket-4711`,
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.text(args[1])
			if err != nil {
				return err
			}
			req := wire.StartRequest{Agent: args[0], Input: input, ThreadID: thread, OnPending: onPending}
			if req.Metadata, err = jsonFlag("--metadata", metadata); err != nil {
				return err
			}
			return a.start(cmd, req, key, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&thread, "thread", "", "go on in this thread instead of a new one")
	flags.StringVar(&key, "key", "", "idempotency key: the same key starts one run")
	flags.StringVar(&metadata, "metadata", "", "JSON object kept with the run")
	flags.StringVar(&onPending, "on-pending", "", "what to do if the thread's run waits: refuse, which is also the default and the only choice so far")
	flags.BoolVar(&wait, "wait", false, "wait until the run waits for somebody or is done")
	return cmd
}

func (a *app) start(cmd *cobra.Command, req wire.StartRequest, key string, wait bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	run, err := c.StartRun(cmd.Context(), req, key)
	if err != nil {
		return err
	}
	return a.finish(cmd, c, run, wait)
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
	return json.Marshal(arg)
}

// jsonFlag checks that a flag's value is JSON; "" is no value.
func jsonFlag(name, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	if !json.Valid([]byte(value)) {
		return nil, usagef("%s is not JSON: %s", name, value)
	}
	return json.RawMessage(value), nil
}
