package cmdline

import (
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// FlagValue is a flag of a command, as it was given; without a value it was not.
type FlagValue struct{ Name, Value string }

// PrintMore prints the command for the next page of a list: the same command, with the cursor.
// Without a next page it prints nothing.
func (a *App) PrintMore(verb string, flags []FlagValue, limit int, next string) error {
	if next == "" {
		return nil
	}
	for _, flag := range flags {
		if flag.Value != "" {
			verb += " --" + flag.Name + " " + scaffold.ShellWord(flag.Value)
		}
	}
	return a.Printf("more: %s --limit %d --cursor %s\n", a.Command(verb), limit, next)
}
