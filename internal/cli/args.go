package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// atLeastOne refuses a number that a server or a pool would silently read as its own default.
func atLeastOne(flag string, n int) error {
	if n < 1 {
		return usagef("%s is a number from 1, not %d", flag, n)
	}
	return nil
}

// takes demands between least and most arguments, and shows the verb's form if there are fewer or more.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return usagef("wrong number of arguments; usage: %s%s", cmd.UseLine(), nearest(cmd, args))
	}
}

// noVerb refuses a word behind a group of verbs: it is none of them, or cobra would have found it.
func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			verbs = append(verbs, verb.Name())
		}
	}
	return usagef("unknown command %q for %q; it has: %s%s", args[0], cmd.CommandPath(), strings.Join(verbs, ", "), nearest(cmd, args))
}
