package cmdline

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// AtLeastOne refuses a number that a server or a pool would silently read as its own default.
func AtLeastOne(flag string, n int) error {
	if n < 1 {
		return Usagef("%s is a number from 1, not %d", flag, n)
	}
	return nil
}

// How many items the server puts on a page at most.
const (
	MostRuns      = 100
	MostApprovals = 200
	MostDecisions = 200
)

// PageLimit refuses a number of items that the server would silently make smaller.
func PageLimit(n, most int) error {
	if n > most {
		return Usagef("--limit is at most %d, not %d; use the printed --cursor to fetch the next page", most, n)
	}
	return AtLeastOne("--limit", n)
}

// Takes demands between least and most arguments, and shows the verb's form if there are fewer or
// more.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return Usagef("wrong number of arguments; usage: %s%s", cmd.UseLine(), nearest(cmd, args))
	}
}

// TakesText is takes for a verb whose last argument is a text that people forget to put in quotes.
func TakesText(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return Takes(least, most)(cmd, args)
		}
		text := strings.Join(args[most-1:], " ")
		return Usagef("%s is one argument: put it in quotes, as %s; usage: %s", what, scaffold.ShellWord(text), cmd.UseLine())
	}
}

// NoVerb refuses a word behind a group of verbs: it is none of them, or cobra would have found it.
func NoVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			verbs = append(verbs, verb.Name())
		}
	}
	return Usagef("unknown command %q for %q; it has: %s%s", args[0], cmd.CommandPath(), strings.Join(verbs, ", "), nearest(cmd, args))
}
