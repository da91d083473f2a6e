package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func (a *app) decisionsCommand() *cobra.Command {
	var list client.DecisionList
	var recorded period
	cmd := &cobra.Command{
		Use:   "decisions",
		Short: "List the decisions of all runs, newest first",
		Long:  "List the decisions that were recorded in all runs, newest first: who decided what about which call, and whether it was applied.",
		Example: `  dormouse decisions
  dormouse decisions --by token:anna --action cancel
  dormouse decisions --agent refund-desk --json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := pageLimit(list.Limit, mostDecisions); err != nil {
				return err
			}
			var err error
			if list.Period, err = recorded.read(); err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			page, err := c.Decisions(cmd.Context(), list)
			if err != nil {
				return err
			}
			return a.printDecisions(list, page)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&list.By, "by", "", "only decisions of this principal, such as token:anna")
	flags.StringVar(&list.Via, "via", "", "only decisions made through this entry point, such as api or link")
	flags.StringVar(&list.Agent, "agent", "", "only runs of this agent")
	flags.StringVar(&list.Action, "action", "", "only decisions with this action: resume or cancel")
	recorded.add(flags, "decisions recorded")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", mostDecisions))
	flags.StringVar(&list.Cursor, "cursor", "", "continue where an earlier page ended")
	return cmd
}

func (a *app) printDecisions(list client.DecisionList, page wire.DecisionPage) error {
	if a.json {
		return a.printJSON(page)
	}
	if page.Unreadable > 0 {
		if err := a.printf("%d commits cannot be read; their decisions are missing\n", page.Unreadable); err != nil {
			return err
		}
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.printf("no decisions\n")
	}
	rows := [][]string{{"RECORDED", "RUN", "CALL", "DECISION", "BY", "REASON"}}
	for _, d := range page.Items {
		rows = append(rows, []string{clock(d.At), d.RunID, oneLine(cmp.Or(d.Tool, d.Kind, "-")), decisionText(d), oneLine(cmp.Or(d.By, d.Via, "-")), oneLine(cmp.Or(d.Reason, d.DecisionRecordedData.Error, "-"))})
	}
	if err := a.list(rows, 2, 5); err != nil {
		return err
	}
	flags := []flagValue{{"by", list.By}, {"via", list.Via}, {"agent", list.Agent}, {"action", list.Action}}
	return a.printMore("decisions", append(flags, periodFlags(list.Period)...), list.Limit, page.Next)
}

// decisionText is the action of a decision, and whether it took effect.
func decisionText(d wire.RecordedDecision) string {
	switch {
	case d.Unreadable != nil:
		return "unreadable"
	case d.TimedOut:
		return oneLine(d.Action) + " (by the deadline)"
	case d.Late:
		return oneLine(d.Action) + " (late, not used)"
	case !d.Applied:
		return oneLine(d.Action) + " (not applied)"
	}
	return oneLine(d.Action)
}
