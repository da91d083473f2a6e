package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/wire"
)

func (a *app) messagesCommand() *cobra.Command {
	var key, onPending string
	var wait bool
	cmd := &cobra.Command{
		Use:   "messages THREAD [TEXT]",
		Short: "Show a conversation, or send a message to it",
		Example: `  dormouse messages thr_3k7q2
  dormouse messages thr_3k7q2 "And order B-02, please" --wait`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.showMessages(cmd, args[0])
			}
			input, err := a.text(args[1])
			if err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			run, err := c.SendMessage(cmd.Context(), args[0], wire.MessageRequest{Input: input, OnPending: onPending}, key)
			if err != nil {
				return err
			}
			return a.finish(cmd, c, run, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&key, "key", "", "idempotency key: the same key is the same message")
	flags.StringVar(&onPending, "on-pending", "", "if the thread's run waits: refuse, abandon or queue")
	flags.BoolVar(&wait, "wait", false, "wait until the run waits for somebody or is done")
	return cmd
}

func (a *app) showMessages(cmd *cobra.Command, thread string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	page, err := c.Messages(cmd.Context(), thread)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(page)
	}
	return a.table(Transcript(page))
}

// Transcript is a conversation as rows of two columns: who, and what.
func Transcript(messages []wire.Message) [][]string {
	var rows [][]string
	for _, m := range messages {
		rows = append(rows, messageRows(m)...)
	}
	return rows
}

func messageRows(m wire.Message) [][]string {
	who := m.Role
	switch {
	case m.Role == "tool" && m.Error:
		who = m.Tool + " failed"
	case m.Role == "tool" && m.Pending:
		who = m.Tool + " waits"
	case m.Role == "tool":
		who = m.Tool
	}
	var rows [][]string
	if m.Text != "" || len(m.ToolCalls) == 0 {
		for i, line := range strings.Split(m.Text, "\n") {
			if i > 0 {
				who = ""
			}
			rows = append(rows, []string{who, line})
		}
	}
	for _, c := range m.ToolCalls {
		rows = append(rows, []string{who, "calls " + c.Name + " " + oneLine(string(c.Arguments))})
	}
	return rows
}
