package inbox

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func (a *app) approvalsCommand() *cobra.Command {
	var list client.ApprovalFilter
	var walk, count bool
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List calls that need a decision, and the commands to decide them",
		Long: `List the calls of all runs that wait for a person or a client, oldest first. Each call is
printed with the commands that decide it.

With -i, decide calls in an interactive inbox. The list refreshes by itself. Before an
approval is sent, the inbox shows the whole call and asks you to confirm.

  up, down or k, j   select a call
  Enter              show the call
  y                  approve
  n                  deny, with a reason
  e                  edit the arguments in $VISUAL or $EDITOR and review the changes
  r                  give a result
  x                  report an error
  o                  show what the run did
  q                  quit`,
		Example: `  dormouse approvals
  dormouse approvals -i
  dormouse approvals -i --kind approval
  dormouse approvals --agent refund-desk --json
  dormouse approvals --mine any --order deadline --count
  dormouse approvals link run_3k7q2_0 --for anna@example.com`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdline.PageLimit(list.Limit, cmdline.MostApprovals); err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if walk {
				return a.walkInbox(cmd.Context(), c, list)
			}
			read := c.Inbox
			if !count {
				read = func(ctx context.Context, list client.ApprovalFilter) (page wire.InboxPage, err error) {
					one, err := c.ApprovalPage(ctx, list)
					return wire.InboxPage{Items: one.Items, Next: one.Next}, err
				}
			}
			page, err := read(cmd.Context(), list)
			if err != nil {
				return err
			}
			return a.printApprovals(list, page)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&walk, "interactive", "i", false, "decide calls in an interactive inbox")
	flags.StringVar(&list.Agent, "agent", "", "only calls of this `AGENT`")
	flags.StringVar(&list.Kind, "kind", "", "only calls of this `KIND`: "+strings.Join(query.InboxKinds, ", "))
	flags.StringVar(&list.ThreadID, "thread", "", "only calls of this `THREAD`")
	flags.StringVar(&list.Tool, "tool", "", "only calls of this `TOOL`")
	flags.StringVar(&list.Text, "text", "", "only calls whose title, tool, agent or thread has this `TEXT`")
	flags.StringVar(&list.Mine, "mine", "", "only calls that ask you as `HOW`: "+strings.Join(query.Mines, ", "))
	flags.StringVar(&list.Order, "order", "", "`ORDER` of the list: "+strings.Join(query.InboxOrders, ", ")+" (the least time left first)")
	flags.BoolVar(&count, "count", false, "also print how many questions wait; with filters, on this page")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", cmdline.MostApprovals))
	flags.StringVar(&list.Cursor, "cursor", "", "`CURSOR` printed at the end of the previous page")
	cmd.AddCommand(a.makeLinkCommand(), a.listLinksCommand(), a.revokeLinkCommand())
	return cmd
}

func (a *app) printApprovals(list client.ApprovalFilter, page wire.InboxPage) error {
	if a.JSON {
		return a.PrintJSON(page)
	}
	if n := page.Count; n != nil {
		least := ""
		if n.AtLeast {
			least = "at least "
		}
		if err := a.Printf("%s%s\n\n", least, display.Counted(n.Questions, "question")); err != nil {
			return err
		}
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.Printf("no waiting calls\n")
	}
	for i, item := range page.Items {
		if i > 0 {
			if err := a.Printf("\n"); err != nil {
				return err
			}
		}
		rows := [][]string{{"run", item.RunID}, {"agent", item.Agent}, {"since", display.Clock(item.Since)}}
		rows = append(rows, a.FactRows(cmdline.OfRun(item.StartedBy, item.AgentVersion, item.Metadata))...)
		if item.Error != nil {
			rows = append(rows, []string{"unreadable", display.OneLine(item.Error.Detail)})
		} else {
			rows = append(rows, a.PendingRows(item.RunID, item.Agent, item.Pending)...)
		}
		if err := a.Table(rows); err != nil {
			return err
		}
	}
	flags := []cmdline.FlagValue{{Name: "agent", Value: list.Agent}, {Name: "kind", Value: list.Kind}, {Name: "thread", Value: list.ThreadID},
		{Name: "tool", Value: list.Tool}, {Name: "text", Value: list.Text}, {Name: "mine", Value: list.Mine}, {Name: "order", Value: list.Order}}
	return a.PrintMore("approvals", flags, list.Limit, page.Next)
}

// pendingIDs lists the waiting calls of a run.
func pendingIDs(pending []wire.Pending) string {
	names := make([]string, len(pending))
	for i, p := range pending {
		names[i] = p.Suspension.ID + " (" + cmp.Or(p.Tool, p.Kind) + display.After(" of ", cmdline.PathWords(p.Path)) + ")"
	}
	return strings.Join(names, ", ")
}
