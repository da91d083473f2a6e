package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ExitCode is an exit code and what it means: a sentence, and below it one line for each case.
type ExitCode struct {
	Code  int
	Means []string
}

func (c ExitCode) String() string {
	return fmt.Sprintf("  %d  %s", c.Code, strings.Join(c.Means, "\n     - "))
}

func exitCodesTopic(codes []ExitCode) *cobra.Command {
	lines := make([]string, len(codes))
	for i, c := range codes {
		lines[i] = c.String()
	}
	return &cobra.Command{
		Use:     "exit-codes",
		Short:   "List the exit codes",
		Example: "  dormouse help exit-codes",
		Long: "Exit codes:\n" + strings.Join(lines, "\n") + `

With --json, an error is printed on stderr as {"error":{"code":"...","detail":"..."}}.
Warnings are printed before it, each on its own line, as {"warning":{...}}.`,
	}
}
