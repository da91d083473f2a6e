package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
)

// watchAll shows suspensions, decisions and run ends of all runs, and how many calls wait, until it
// is interrupted.
func (a *app) watchAll(ctx context.Context, c *client.Client, agent string, all bool) error {
	for item, err := range c.Feed(ctx, client.FeedOptions{Agent: agent, Tail: !all}) {
		switch {
		case err != nil:
			return err
		case item.Counts != nil:
			err = a.showCounts(*item.Counts)
		default:
			err = a.showOfFeed(*item.Event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showOfFeed(e wire.Event) error {
	if a.JSON {
		return a.PrintJSON(e)
	}
	words := fmt.Sprintf("%s  %s  %-17s  %s", e.At.UTC().Format(time.TimeOnly), e.RunID, e.Type, narrate.Describe(e))
	return a.Printf("%s\n", strings.TrimRight(words, " "))
}

func (a *app) showCounts(c wire.Counts) error {
	if a.JSON {
		return a.PrintJSON(map[string]wire.Counts{"counts": c})
	}
	return a.Printf("%s\n", countsText(c))
}

// countsText says how many calls wait, such as "3 waiting: 2 approval, 1 client".
func countsText(c wire.Counts) string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(c.Kinds)) {
		kinds = append(kinds, fmt.Sprint(c.Kinds[kind], " ", display.OneLine(kind)))
	}
	text := fmt.Sprint(c.Waiting, " waiting")
	if c.AtLeast {
		text = "at least " + text
	}
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}
	return text
}
