package webhookcmd

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// aboutEndpoints says what an ENDPOINT is.
const aboutEndpoints = `ENDPOINT is the id of a webhook, or names a target of an agent file or of a run:
agent/AGENT/NAME or run/RUN/NAME.`

func (a *app) enableCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "enable ENDPOINT",
		Short:   "Enable an endpoint",
		Long:    "Enable an endpoint that was disabled, here or by its own answer 410 Gone. It is notified of\nlater events; redrive its dead deliveries to send those too.\n\n" + aboutEndpoints,
		Example: "  dormouse webhooks enable wh_4v5k7q2m\n  dormouse webhooks enable agent/refund-desk/pager",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			return a.printDone("enabled", args[0], c.EnableEndpoint(cmd.Context(), args[0]))
		},
	}
}

func (a *app) disableCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "disable ENDPOINT",
		Short:   "Disable an endpoint",
		Long:    "Stop notices to an endpoint until it is enabled. Notices on their way become dead deliveries.\n\n" + aboutEndpoints,
		Example: "  dormouse webhooks disable wh_4v5k7q2m --reason \"Pager is moving\"",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			d, err := c.DisableEndpoint(cmd.Context(), wire.EndpointRequest{Endpoint: args[0], Reason: reason})
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.PrintJSON(d)
			}
			return a.Printf("disabled: %s since %s: %s\n", d.Endpoint, by(d.At, d.By), display.OneLine(d.Reason))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that is shown with the endpoint")
	return cmd
}

func (a *app) disabledCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "disabled",
		Short:   "List disabled endpoints",
		Long:    "List the disabled endpoints of the tenant: webhooks, and targets of agent files and runs.",
		Example: "  dormouse webhooks disabled",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			all, err := client.Collect(c.DisabledEndpoints(cmd.Context()))
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.PrintJSON(wire.Page[wire.DisabledEndpoint]{Items: append([]wire.DisabledEndpoint{}, all...)})
			case len(all) == 0:
				return a.Printf("no disabled endpoints\n")
			}
			rows := [][]string{{"ENDPOINT", "SINCE", "REASON"}}
			for _, d := range all {
				rows = append(rows, []string{display.OneLine(d.Endpoint), by(d.At, d.By), display.OneLine(d.Reason)})
			}
			return a.List(rows, 2)
		},
	}
}
