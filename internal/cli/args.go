package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// atLeastOne refuses a number that a server or a pool would silently read as its own default.
func atLeastOne(flag string, n int) error {
	if n < 1 {
		return usagef("%s is a number from 1, not %d", flag, n)
	}
	return nil
}

// How many items the server puts on a page at most.
const (
	mostRuns      = 100
	mostApprovals = 200
	mostDecisions = 200
)

// pageLimit refuses a number of items that the server would silently make smaller.
func pageLimit(n, most int) error {
	if n > most {
		return usagef("--limit is at most %d, not %d; use the printed --cursor to fetch the next page", most, n)
	}
	return atLeastOne("--limit", n)
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

// takesText is takes for a verb whose last argument is a text that people forget to put in quotes.
func takesText(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return takes(least, most)(cmd, args)
		}
		text := strings.Join(args[most-1:], " ")
		return usagef("%s is one argument: put it in quotes, as %s; usage: %s", what, scaffold.ShellWord(text), cmd.UseLine())
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
