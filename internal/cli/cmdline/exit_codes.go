package cmdline

import (
	"github.com/spf13/cobra"
)

func exitCodesTopic(codes string) *cobra.Command {
	return &cobra.Command{
		Use:     "exit-codes",
		Short:   "What the exit codes mean",
		Example: "  dormouse help exit-codes",
		Long: "Exit codes:\n" + codes + `

With --json the reason is on stderr as {"error":{"code":"...","detail":"..."}}; a warning is a line
{"warning":{...}} before it.`,
	}
}
