package runs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

func (a *app) recordCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "record RUN [FILE]",
		Short: "Record the conversation of a finished run for replay",
		Long: `Record the conversation of a finished run, from the start of its thread to the end of the
run, as one line of JSON. dormouse-proof replay and the model provider "recorded" read
this format. The line is appended to FILE, which is created if it doesn't exist. Without
FILE, it is printed.

The recording includes images and documents. It includes the agent's instructions if the
run's version is still deployed. It excludes content that the model provider encrypted.

A file can hold several recordings of the same thread. Readers use the longest.`,
		Example: `  dormouse runs record run_3k7q2_0 refunds.jsonl
  dormouse runs record run_3k7q2_0 | jq .messages`,
		Args: cmdline.Takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			conversation, err := recorded(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 || args[1] == "-" {
				return recording.Write(a.Stdout, []recording.Conversation{conversation})
			}
			if err := recording.Append(args[1], conversation); err != nil {
				return cmdline.Usagef("cannot write the recording: %v", err)
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"run_id": args[0], "file": args[1], "messages": len(conversation.Messages)})
			}
			return a.Printf("recorded %d messages in %s\n", len(conversation.Messages), args[1])
		},
	}
}

// recorded is the thread of a run, up to the end of the run. It contains only what callers of the
// API can read.
func recorded(ctx context.Context, c *client.Client, id string) (none recording.Conversation, err error) {
	run, err := c.Run(ctx, id)
	if err != nil {
		return none, err
	}
	if run.Status != "done" {
		return none, cmdline.Fail(cmdline.ExitFailed, "not_done", fmt.Sprintf("run %s is %s; record it when it is done", id, run.Status))
	}
	messages, err := client.Collect(c.Messages(ctx, run.ThreadID, client.MessageOptions{Data: true}))
	if err != nil {
		return none, err
	}
	system := ""
	if agent, err := c.Agent(ctx, run.Agent); err == nil && agent.Version == run.AgentVersion {
		system = agent.Instructions
	}
	conversation, err := recording.FromThread(run.ThreadID, run.ID, system, messages)
	if err != nil {
		return none, cmdline.Fail(cmdline.ExitFailed, "not_recorded", err.Error())
	}
	return conversation, nil
}

// CanRecord refuses a file that can't be written, before a run is started.
func CanRecord(file string) error {
	if file == "" {
		return nil
	}
	if file == "-" {
		return cmdline.Usagef("--record needs a file name; to print a conversation, use dormouse runs record")
	}
	if err := recording.CanAppend(file); err != nil {
		return cmdline.Usagef("--record: cannot write the file: %v", err)
	}
	return nil
}

// recordFinished appends a finished run to a file. If that fails, it only warns: the command was to
// start a run, and that succeeded.
func (a *app) recordFinished(ctx context.Context, c *client.Client, run, file string) {
	conversation, err := recorded(ctx, c, run)
	if err == nil {
		err = recording.Append(file, conversation)
	}
	if err != nil {
		a.Warn("not_recorded", fmt.Sprintf("the run was not recorded: %v; to record it later: %s", err, a.Command("runs record "+run+" "+scaffold.ShellWord(file))))
	}
}
