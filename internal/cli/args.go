package cli

import "github.com/spf13/cobra"

// takes demands between least and most arguments, and shows the verb's form if there are fewer or more.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return usagef("wrong number of arguments; usage: %s", cmd.UseLine())
	}
}
