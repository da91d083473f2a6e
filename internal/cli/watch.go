package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// eventPage is how many events one request asks for.
const eventPage = 100

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
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && follow:
				return usagef("--follow needs a run; without one, watch continues until it is interrupted")
			case len(args) == 1 && (agent != "" || all):
				return usagef("--agent and --all apply to all runs; remove the run or the flag")
			}
			c, err := a.connect()
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
			return ended(run)
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
	if a.json {
		return nil
	}
	var rows [][]string
	for _, p := range run.Pending {
		rows = append(rows, a.pendingRows(run.ID, p)...)
	}
	return a.table(rows)
}

// watch prints events until the run is done or, unless follow is set, waits, and returns the run as it is then.
func (a *app) watch(ctx context.Context, c *client.Client, id string, follow bool) (wire.Run, error) {
	view := a.newView()
	_, err := c.Follow(ctx, id, "", follow, view.show)
	if err = errors.Join(err, view.end()); err != nil {
		return wire.Run{}, err
	}
	return c.Run(ctx, id, 0)
}

// Describe says in a few words, on one line, what an event tells beyond its type; "" if nothing.
func Describe(e wire.Event) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return ""
	}
	words := standing(members)
	if members["outcome"] != nil {
		delete(members, "status") // the outcome says more
	}
	for _, name := range []string{"cause", "status", "outcome", "tool_name", "call_id", "kind", "action", "reason", "done_reason",
		"code", "arguments", "result", "text", "error", "detail", "message"} {
		if w := word(members[name]); w != "" {
			words = append(words, w)
		}
	}
	var at time.Time
	if json.Unmarshal(members["try_at"], &at) == nil {
		words = append(words, "next attempt "+at.UTC().Format(time.TimeOnly))
	}
	return shorten(clean(strings.Join(words, "  ")), 160)
}

// standing says of a decision what its action does not: that the deadline made it, or that it came too late to count.
func standing(members map[string]json.RawMessage) []string {
	switch {
	case string(members["timed_out"]) == "true":
		return []string{"by the deadline"}
	case string(members["late"]) == "true":
		return []string{"late, not used"}
	}
	return nil
}

// word is a JSON value in plain text: a string without its quotes, anything else as it is, null as nothing.
func word(raw json.RawMessage) string {
	var text *string
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return ""
		}
		return oneLine(*text)
	}
	return cleanJSON(raw)
}

// shorten cuts text after limit characters and says how many are missing.
func shorten(text string, limit int) string {
	chars := []rune(text)
	if len(chars) <= limit {
		return text
	}
	return fmt.Sprintf("%s... (%d more)", string(chars[:limit]), len(chars)-limit)
}
