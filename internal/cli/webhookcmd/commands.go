// Package webhookcmd has the commands that manage the webhooks of a tenant: which addresses are
// notified of runs, and what was delivered to them.
package webhookcmd

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Manage webhooks and their deliveries",
		Long: `Manage the webhooks of a tenant: addresses that are notified when calls of runs wait, are
decided, or runs end. Requires the role webhooks.

A notice that can't be delivered is attempted again for 24 hours and is then dead. See
webhooks dead and webhooks redrive.`,
		Example: `  dormouse webhooks add https://pager.example.com/dormouse --on suspended,failed --secret WEBHOOK_PAGER
  dormouse webhooks list
  dormouse webhooks dead`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.listCommand(), a.addCommand(), a.showCommand(), a.updateCommand(), a.removeCommand(), a.testCommand(),
		a.enableCommand(), a.disableCommand(), a.disabledCommand(), a.deliveriesCommand(), a.deadCommand(), a.redriveCommand(), a.forgetCommand())
	return []*cobra.Command{cmd}
}
