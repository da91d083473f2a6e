package cmdline

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// AtLeastOne refuses a number that a server or a pool would silently replace by its default.
func AtLeastOne(flag string, n int) error {
	if n < 1 {
		return Usagef("%s is %d; it must be at least 1", flag, n)
	}
	return nil
}

// The maximum number of items on a page of the server.
const (
	MostRuns      = 100
	MostApprovals = 200
	MostDecisions = 200
)

// PageLimit refuses a number of items that the server would silently lower.
func PageLimit(n, most int) error {
	if n > most {
		return Usagef("--limit is %d; the maximum is %d. Use the printed --cursor to fetch the next page", n, most)
	}
	return AtLeastOne("--limit", n)
}

// Takes requires between least and most arguments. Otherwise it shows the usage of the command.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return Usagef("wrong number of arguments; usage: %s%s", cmd.UseLine(), nearest(cmd, args))
	}
}

// TakesText is [Takes] for a command whose last argument is text. It reports text without quotes.
func TakesText(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return Takes(least, most)(cmd, args)
		}
		text := strings.Join(args[most-1:], " ")
		return Usagef("%s must be one argument; put it in quotes: %s; usage: %s", what, scaffold.ShellWord(text), cmd.UseLine())
	}
}

// NoArgs refuses arguments of a command that only groups others. If the argument named one of
// them, cobra would have run that.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	return Usagef("unknown command %q for %q; use one of: %s%s", args[0], cmd.CommandPath(), strings.Join(names, ", "), nearest(cmd, args))
}
