package inbox

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

func (a *app) decisionsCommand() *cobra.Command {
	var list client.DecisionFilter
	var recorded cmdline.Period
	cmd := &cobra.Command{
		Use:   "decisions",
		Short: "List the decisions of all runs, newest first",
		Long:  "List the recorded decisions of all runs, newest first: who decided what on which call, and whether\nit was applied.",
		Example: `  dormouse decisions
  dormouse decisions --by token:anna --action cancel
  dormouse decisions --agent refund-desk --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdline.PageLimit(list.Limit, cmdline.MostDecisions); err != nil {
				return err
			}
			var err error
			if list.CreatedAfter, list.CreatedBefore, err = recorded.Read(); err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			page, err := c.DecisionPage(cmd.Context(), list)
			if err != nil {
				return err
			}
			return a.printDecisions(list, page)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&list.By, "by", "", "only decisions by this `CALLER`, such as token:anna")
	flags.StringVar(&list.Via, "via", "", "only decisions made through this `ENTRY` point, such as api or link")
	flags.StringVar(&list.Agent, "agent", "", "only decisions on runs of this `AGENT`")
	flags.StringVar(&list.Action, "action", "", "only decisions with this `ACTION`: resume or cancel")
	recorded.Add(flags, "decisions recorded")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", cmdline.MostDecisions))
	flags.StringVar(&list.Cursor, "cursor", "", "`CURSOR` printed at the end of the previous page")
	return cmd
}

func (a *app) printDecisions(list client.DecisionFilter, page wire.DecisionPage) error {
	if a.JSON {
		return a.PrintJSON(page)
	}
	if page.Unreadable > 0 {
		if err := a.Printf("%d commits cannot be read; their decisions are missing\n", page.Unreadable); err != nil {
			return err
		}
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.Printf("no decisions\n")
	}
	rows := [][]string{{"RECORDED", "RUN", "CALL", "DECISION", "BY", "REASON"}}
	for _, d := range page.Items {
		rows = append(rows, []string{display.Clock(d.At), d.RunID, calledText(d), decisionText(d), display.OneLine(cmp.Or(d.By, d.Via, "-")), display.OneLine(cmp.Or(d.Reason, d.DecisionRecordedData.Error, "-"))})
	}
	if err := a.List(rows, 2, 5); err != nil {
		return err
	}
	flags := []cmdline.FlagValue{{Name: "by", Value: list.By}, {Name: "via", Value: list.Via}, {Name: "agent", Value: list.Agent}, {Name: "action", Value: list.Action}}
	return a.PrintMore("decisions", append(flags, cmdline.PeriodFlags(list.CreatedAfter, list.CreatedBefore)...), list.Limit, page.Next)
}

// calledText names what was decided about: an ask by its title.
func calledText(d wire.RecordedDecision) string {
	return display.Shorten(display.Spelled(display.OneLine(cmp.Or(d.Title, d.Tool, d.Kind, "-"))), mostCalled)
}

const mostCalled = 40

// decisionText is the action of a decision, and whether it took effect.
func decisionText(d wire.RecordedDecision) string {
	switch {
	case d.Unreadable != nil:
		return "unreadable"
	case d.Silent:
		return display.OneLine(d.Action) + " (no one answered in time)"
	case d.TimedOut:
		return display.OneLine(d.Action) + " (by the deadline)"
	case d.Late:
		return display.OneLine(d.Action) + " (too late, not applied)"
	case !d.Applied && d.Vote != nil && d.Vote.Outcome != string(vote.OutcomeSuperseded):
		return display.OneLine(d.Action) + " (vote)"
	case !d.Applied:
		return display.OneLine(d.Action) + " (not applied)"
	}
	return display.OneLine(d.Action)
}
