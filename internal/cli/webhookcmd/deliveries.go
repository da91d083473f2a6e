package webhookcmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func (a *app) deliveriesCommand() *cobra.Command {
	cmd := a.listing("deliveries", false)
	cmd.Short = "List deliveries, newest first"
	cmd.Long = `List delivered and dead notices, newest first, with the result of the last attempt. With
--thread, notices of the thread that wait are listed too.`
	cmd.Example = `  dormouse webhooks deliveries
  dormouse webhooks deliveries --thread thr_3k7q2 --json`
	return cmd
}

func (a *app) deadCommand() *cobra.Command {
	cmd := a.listing("dead", true)
	cmd.Short = "List dead deliveries, newest first"
	cmd.Long = `List notices that were given up: after 24 hours, or because the endpoint is gone, disabled or
answered that it will never accept them. They are kept until you redrive or forget them.`
	cmd.Example = `  dormouse webhooks dead
  dormouse webhooks dead --endpoint wh_4v5k7q2m`
	return cmd
}

// listing is a command that lists deliveries.
func (a *app) listing(name string, dead bool) *cobra.Command {
	list := client.DeliveryFilter{Dead: dead}
	cmd := &cobra.Command{
		Use:  name,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdline.PageLimit(list.Limit, mostDeliveries); err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			page, err := c.DeliveryPage(cmd.Context(), list)
			if err != nil {
				return err
			}
			return a.printDeliveries(name, list, page)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&list.Endpoint, "endpoint", "", "only deliveries to this `ENDPOINT`")
	flags.StringVar(&list.Thread, "thread", "", "only deliveries about this `THREAD`")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", mostDeliveries))
	flags.StringVar(&list.Cursor, "cursor", "", "`CURSOR` printed at the end of the previous page")
	return cmd
}

// mostDeliveries is the maximum number of deliveries on a page of the server.
const mostDeliveries = 200

func (a *app) printDeliveries(name string, list client.DeliveryFilter, page wire.Page[wire.Delivery]) error {
	if a.JSON {
		return a.PrintJSON(page)
	}
	if len(page.Items) == 0 && page.Next == "" {
		if err := a.Printf("no deliveries\n"); err != nil {
			return err
		}
		return a.hintWaiting(list)
	}
	rows := [][]string{{"QUEUED", "ENDPOINT", "ON", "STATE", "TRIES", "LAST ATTEMPT", "DELIVERY"}}
	for _, d := range page.Items {
		rows = append(rows, []string{display.Clock(d.QueuedAt), display.OneLine(d.Endpoint), d.Type, d.State, strconv.Itoa(d.Attempts), lastAttempt(d), d.ID})
	}
	if err := a.List(rows, 1, 5); err != nil {
		return err
	}
	if err := a.hintWaiting(list); err != nil {
		return err
	}
	return a.PrintMore("webhooks "+name, []cmdline.FlagValue{{Name: "endpoint", Value: list.Endpoint}, {Name: "thread", Value: list.Thread}}, list.Limit, page.Next)
}

// hintWaiting says where notices are that are attempted again: no store lists those of all threads.
func (a *app) hintWaiting(list client.DeliveryFilter) error {
	if list.Dead || list.Thread != "" {
		return nil
	}
	return a.Printf("waiting deliveries are listed per thread: --thread THREAD\n")
}

// lastAttempt is what the last attempt came to.
func lastAttempt(d wire.Delivery) string {
	if len(d.Log) == 0 {
		return "-"
	}
	last := d.Log[len(d.Log)-1]
	if last.Error != "" {
		return display.OneLine(last.Error)
	}
	return "status " + strconv.Itoa(last.Status)
}

func (a *app) redriveCommand() *cobra.Command {
	var endpoint string
	cmd := &cobra.Command{
		Use:   "redrive [DELIVERY]",
		Short: "Attempt dead deliveries again",
		Long: `Attempt a dead delivery again, for up to 24 hours, or all dead deliveries of an endpoint. The
receiver gets each notice under the same id. Running the command again has no further
effect on those that wait.`,
		Example: `  dormouse webhooks redrive dlv_dGhyX2EANwB3aF9h
  dormouse webhooks redrive --endpoint wh_4v5k7q2m`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (endpoint != "") {
				return cmdline.Usagef("pass either the id of a delivery or --endpoint")
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if endpoint != "" {
				return a.redriveAll(cmd, c, endpoint)
			}
			d, err := c.RedriveDelivery(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.PrintJSON(d)
			}
			return a.Printf("%s: %s to %s\n", d.State, d.ID, display.OneLine(d.Endpoint))
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "redrive all dead deliveries of this `ENDPOINT`")
	return cmd
}

func (a *app) redriveAll(cmd *cobra.Command, c *client.Client, endpoint string) error {
	n, err := c.RedriveEndpoint(cmd.Context(), endpoint)
	switch {
	case err != nil && n > 0:
		return cmdline.Fail(cmdline.ExitFailed, "failed", fmt.Sprintf("%v; %d deliveries were redriven before. Run the same command again for the rest", err, n))
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]any{"endpoint": endpoint, "redriven": n})
	}
	return a.Printf("%d redriven to %s\n", n, display.OneLine(endpoint))
}

func (a *app) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "forget DELIVERY",
		Short:   "Delete a dead delivery",
		Long:    "Delete a dead delivery. Its notice is never attempted again.",
		Example: "  dormouse webhooks forget dlv_dGhyX2EANwB3aF9h",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			return a.printDone("forgotten", args[0], c.ForgetDelivery(cmd.Context(), args[0]))
		},
	}
}
