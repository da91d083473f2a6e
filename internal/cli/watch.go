package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// eventPage is how many events one request asks for.
const eventPage = 100

func (a *app) watchCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "watch RUN",
		Short: "Follow what a run does",
		Long:  "Print a run's events from the first, and go on until the run waits for somebody or is done.",
		Example: `  dormouse watch run_3k7q2_0
  dormouse watch run_3k7q2_0 --follow --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
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
	cmd.Flags().BoolVar(&follow, "follow", false, "go on while the run waits, until it is done")
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

// watch prints events until the run is done or, unless follow is set, waits. The status is read before the events, so
// that everything up to the wait has been printed when it returns.
func (a *app) watch(ctx context.Context, c *client.Client, id string, follow bool) (wire.Run, error) {
	after := ""
	for {
		run, err := c.Run(ctx, id, 0)
		if err != nil {
			return run, err
		}
		// A run whose only call was just answered still reads as waiting for a moment; it is about to go on.
		resting := run.Status == "done" || run.Status == "waiting" && len(run.Pending) > 0 && !follow
		wait := patience
		if resting {
			wait = 0
		}
		for {
			page, err := c.Events(ctx, id, after, wait, eventPage)
			if err != nil {
				return run, err
			}
			if err := a.printEvents(page.Items); err != nil {
				return run, err
			}
			after = page.Next
			if len(page.Items) == 0 || page.Done {
				break
			}
			wait = 0
		}
		if resting {
			return run, nil
		}
	}
}

func (a *app) printEvents(events []wire.Event) error {
	for _, e := range events {
		var err error
		if a.json {
			err = a.printJSON(e)
		} else {
			line := fmt.Sprintf("%s  %-17s  %s", e.At.UTC().Format(time.TimeOnly+".000"), e.Type, Describe(e))
			err = a.printf("%s\n", strings.TrimRight(line, " "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Describe says in a few words, on one line, what an event tells beyond its type; "" if nothing.
func Describe(e wire.Event) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return ""
	}
	words := standing(members)
	for _, name := range []string{"status", "outcome", "tool_name", "call_id", "kind", "action", "reason", "done_reason",
		"code", "arguments", "result", "text", "error", "detail", "message"} {
		if w := word(members[name]); w != "" {
			words = append(words, w)
		}
	}
	return shorten(strings.Join(words, "  "), 160)
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
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return ""
		}
		return oneLine(*text)
	}
	return oneLine(string(raw))
}

// shorten cuts text after limit characters and says how many are missing.
func shorten(text string, limit int) string {
	chars := []rune(text)
	if len(chars) <= limit {
		return text
	}
	return fmt.Sprintf("%s... (%d more)", string(chars[:limit]), len(chars)-limit)
}
