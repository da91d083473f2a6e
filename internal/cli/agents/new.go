package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/schema"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

func (a *app) newCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent with a script and tests",
		Long: `Create an agent in DIR that works out of the box: the agent file, a script that plays the
part of the model, and tests. It needs no model account. The agent issues refunds and asks for
approval when the amount exceeds $100. JSON Schemas for editors are created too.

Existing files are never overwritten. If one of the files exists, nothing is written.
Existing schemas are kept.`,
		Example: `  dormouse new my-desk
  dormouse new my-desk --dir work/agents`,
		Args: cmdline.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if display.Clean(dir) != dir {
				return cmdline.Usagef("--dir contains an invisible character (%s); choose a name that can be copied", display.Clean(dir))
			}
			return a.writeAgent(filepath.Clean(dir), args[0])
		},
	}
	cmd.Flags().StringVar(&dir, "dir", scaffold.Usual, "`DIR` for the agent; created if it doesn't exist")
	return cmd
}

// created is what new prints with --json.
type created struct {
	Agent   string   `json:"agent"`
	Written []string `json:"written"`
	Kept    []string `json:"kept"` // existing schemas with other contents
}

func (a *app) writeAgent(dir, name string) error {
	if err := agentfile.CheckName(name); err != nil {
		return cmdline.Usagef("%v", err)
	}
	if err := unnamed(dir, name); err != nil {
		return err
	}
	files, err := Scaffold(a.Name(), dir, name)
	if err != nil {
		return err
	}
	written, kept, err := scaffold.Write(files)
	if errors.Is(err, scaffold.ErrInTheWay) {
		return cmdline.Fail(cmdline.ExitFailed, "in_the_way", err.Error())
	}
	if err != nil {
		return err
	}
	return a.printNew(dir, created{name, written, append([]string{}, kept...)})
}

// Scaffold returns the files of a new agent called name in the directory dir, with the schemas they
// refer to and with commands of the program of that name.
func Scaffold(program, dir, name string) ([]scaffold.File, error) {
	schemas := map[string][]byte{}
	for _, kind := range []string{schema.Agent, schema.Script, schemaTest} {
		text, err := schemaOf(kind)
		if err != nil {
			return nil, err
		}
		schemas[kind] = text
	}
	return scaffold.Agent(program, dir, name, schemas)
}

// unnamed refuses the name of an existing agent in the directory.
func unnamed(dir, name string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// problems of other agents are not reported here
	agents, _, err := agentfile.Survey(dir)
	if err != nil {
		return cmdline.Fail(cmdline.ExitFailed, "failed", err.Error())
	}
	for _, other := range agents {
		if other.Name == name {
			return cmdline.Fail(cmdline.ExitFailed, "in_the_way", fmt.Sprintf("agent %q already exists in %s; choose another name", name, other.File))
		}
	}
	return nil
}

func (a *app) printNew(dir string, n created) error {
	if a.JSON {
		return a.PrintJSON(n)
	}
	var b strings.Builder
	for _, file := range n.Written {
		fmt.Fprintf(&b, "wrote %s\n", file)
	}
	for _, file := range n.Kept {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		fmt.Fprintf(&b, "kept  %s (from another version; to replace it: %s agents schema %s > %s)\n", file, a.Typed(), kind, scaffold.ShellWord(file))
	}
	argument, option := scaffold.Naming(dir)
	fmt.Fprintf(&b, `
Next:
  %[1]s agents check%[2]s
  %[1]s agents test%[2]s
  %[1]s dev%[3]s
Then, in another terminal:
  %[1]s run %[4]s "Refund order A-2" --wait
`, a.Typed(), argument, option, n.Agent)
	return a.Print(b.String())
}
