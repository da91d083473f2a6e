package runs

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) usageCommand() *cobra.Command {
	var day string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what a day's runs used and cost",
		Long: `Show the tokens and the cost of the runs that started on one day (UTC), by agent. Open runs count
with what they have used so far. The cost is that of the runs whose cost is known.`,
		Example: `  dormouse usage
  dormouse usage --day 2026-11-25`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showUsage(cmd, day) },
	}
	cmd.Flags().StringVar(&day, "day", "", "`DATE` of the day in UTC, such as 2026-11-25 (default: today)")
	return cmd
}

func (a *app) showUsage(cmd *cobra.Command, day string) error {
	var at time.Time
	if day != "" {
		var err error
		if at, err = time.Parse(time.DateOnly, day); err != nil {
			return cmdline.Usagef("--day takes a date, such as 2026-11-25, not %q", day)
		}
	}
	c, err := a.Connect()
	if err != nil {
		return err
	}
	usage, err := c.Usage(cmd.Context(), at)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(usage)
	}
	rows := [][]string{{"AGENT", "RUNS", "TOKENS IN", "TOKENS OUT", "COST", "COST UNKNOWN"}}
	for _, of := range usage.Agents {
		rows = append(rows, usageRow(of.Agent, of.RunsUsage))
	}
	return a.List(append(rows, usageRow("all on "+usage.Day, usage.RunsUsage)), 0)
}

func usageRow(name string, of wire.RunsUsage) []string {
	return []string{name, strconv.Itoa(of.Runs), strconv.FormatInt(of.Usage.InputTokens, 10), strconv.FormatInt(of.Usage.OutputTokens, 10),
		"$" + of.Cost.USD, strconv.Itoa(of.Unpriced)}
}
