package inbox

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) withdrawCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw TARGET DECISION",
		Short: "Take back a decision before it takes effect",
		Long: `Take back a decision that was made with decide --hold and has not taken effect yet.
TARGET is the suspension id and DECISION the decision id, as printed by decide. The call
waits for a decision again. Only the caller who decided can withdraw the decision.

A withdrawn decision never takes effect, and its id can't be used again for this call: to
decide the call in the same way after all, use decide with another --id.`,
		Example: `  dormouse withdraw sus_2_x7f3 dec_9b1d44`,
		Args:    cmdline.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			answer, err := c.Withdraw(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(answer)
			}
			return a.Printf("withdrawn: %s; the call waits for a decision again\n", answer.Target)
		},
	}
}
