package runs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func (a *app) messagesCommand() *cobra.Command {
	var key, onPending string
	var wait bool
	var files cmdline.InputFiles
	cmd := &cobra.Command{
		Use:   "messages THREAD [TEXT]",
		Short: "Show a conversation or send a message",
		Long: `Show the conversation of a thread, or send a message to it. THREAD can also be the id of
any run in the thread.

If the thread's last run is done, the message starts a new run. If the run is open, it
receives the message; an interrupted run resumes. If the run waits for a decision, the
message is refused unless you pass --on-pending.`,
		Example: `  dormouse messages thr_3k7q2
  dormouse messages run_3k7q2_0
  dormouse messages thr_3k7q2 "And order B-02, please" --wait
  dormouse messages thr_3k7q2 "This is the other cup" --image cup-2.jpg
  dormouse messages thr_3k7q2 "Never mind, keep the order" --on-pending abandon`,
		Args: cmdline.TakesText(1, 2, "the message"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if len(args) == 1 && files.Any() {
				return cmdline.Usagef("--image and --document need a message; add its text after %s", args[0])
			}
			if len(args) == 1 {
				return a.showMessages(cmd, c, args[0])
			}
			input, err := a.text(args[1])
			if err != nil {
				return err
			}
			if input, err = files.With(input); err != nil {
				return err
			}
			thread, err := threadOf(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			run, err := c.SendMessage(cmd.Context(), thread, wire.MessageRequest{Input: input, OnPending: onPending}, key)
			if err != nil {
				return err
			}
			return a.finish(cmd, c, run, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&key, "key", "", "idempotency `KEY`: the same key is the same message")
	flags.StringVar(&onPending, "on-pending", "", onPendingFlag)
	flags.BoolVar(&wait, "wait", false, "wait until the run needs a decision or is done")
	files.Flags(flags)
	return cmd
}

// threadOf is the thread with this id, or the thread of the run with this id.
func threadOf(ctx context.Context, c *client.Client, id string) (string, error) {
	if !strings.HasPrefix(id, "run_") {
		return id, nil
	}
	run, err := c.Run(ctx, id)
	return run.ThreadID, err
}

func (a *app) showMessages(cmd *cobra.Command, c *client.Client, id string) error {
	thread, err := threadOf(cmd.Context(), c, id)
	if err != nil {
		return err
	}
	page, err := client.Collect(c.Messages(cmd.Context(), thread, client.MessageOptions{}))
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(page)
	}
	return a.Table(Transcript(page))
}

// Transcript is a conversation as rows of two columns: who, and what. A waiting call is omitted
// once it has a result.
func Transcript(messages []wire.Message) [][]string {
	answered := map[string]bool{}
	for _, m := range messages {
		answered[m.CallID] = answered[m.CallID] || !m.Pending
	}
	var rows [][]string
	for _, m := range messages {
		if !m.Pending || !answered[m.CallID] {
			rows = append(rows, messageRows(m)...)
		}
	}
	return rows
}

func messageRows(m wire.Message) [][]string {
	who := m.Role
	switch {
	case m.Role == "tool" && m.Error:
		who = m.Tool + " failed"
	case m.Role == "tool" && m.Pending:
		who = m.Tool + " waiting"
	case m.Role == "tool":
		who = m.Tool
	}
	media := cmdline.MediaLines(m)
	m.Text += core.AddedToResult(m.RanWith, m.Added)
	var rows [][]string
	if m.Text != "" || len(m.ToolCalls)+len(media) == 0 {
		for i, line := range display.CleanProse(m.Text) {
			if i > 0 {
				who = ""
			}
			rows = append(rows, []string{who, line})
		}
	}
	for _, line := range media {
		rows = append(rows, []string{who, line})
	}
	for _, c := range m.ToolCalls {
		rows = append(rows, []string{who, "calls " + display.Spelled(c.Name) + " " + display.CleanJSON(c.Arguments)})
	}
	return rows
}
