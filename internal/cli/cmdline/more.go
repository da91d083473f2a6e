package cmdline

import (
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// FlagValue is a flag of a command. An empty value means that the flag was not set.
type FlagValue struct{ Name, Value string }

// PrintMore prints the command for the next page of a list: the same command, with the cursor.
// Without a next page it prints nothing.
func (a *App) PrintMore(command string, flags []FlagValue, limit int, next string) error {
	if next == "" {
		return nil
	}
	for _, flag := range flags {
		if flag.Value != "" {
			command += " --" + flag.Name + " " + scaffold.ShellWord(flag.Value)
		}
	}
	return a.Printf("next page: %s --limit %d --cursor %s\n", a.Command(command), limit, next)
}
