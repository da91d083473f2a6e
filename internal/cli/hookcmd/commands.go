// Package hookcmd has the commands for hook files: check and list them, and try one on a body.
package hookcmd

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// app is one invocation of the program, for the commands of this package.
type app struct {
	*cmdline.App
	dir string
}

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{App: of}
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Check, list and try hook files",
		Long: `Work with hook files: how incoming webhooks (POST /v1/hooks/NAME) start runs, send
messages and decide. They are the YAML files in the folder hooks of the agents directory.`,
	}
	cmd.PersistentFlags().StringVar(&a.dir, "agents", scaffold.Usual, "`DIR` of the agent files")
	cmd.AddCommand(a.checkCommand(), a.listCommand(), a.tryCommand())
	return []*cobra.Command{cmd}
}

// load reads the hook files. It is a mistake of usage if there are none.
func (a *app) load() ([]hookfile.File, error) {
	files, err := hookfile.Load(a.dir)
	if err != nil {
		return nil, cmdline.Usagef("cannot read the hook files: %v", err)
	}
	if len(files) == 0 {
		return nil, cmdline.Usagef("%s has no hook files; set --agents to the agents directory", filepath.Join(a.dir, hookfile.Folder))
	}
	return files, nil
}

type note struct {
	File string `json:"file"`
	Note string `json:"note"`
}

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find errors in hook files",
		Long: `Check all hook files and report every error with its file, line and fix. It needs no
server and changes nothing. A note reports a secret that is not set in this environment,
or a hook that names an event by a header. The exit code is 1 if there are errors.`,
		Example: `  dormouse hooks check
  dormouse hooks check --agents examples/refund-desk --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			files, err := a.load()
			if err != nil {
				return err
			}
			problems, notes := []agentfile.Problem{}, []note{}
			for _, f := range files {
				problems = append(problems, agentfile.Problems(f.Path, f.Err)...)
				notes = append(notes, a.notesOf(f)...)
			}
			return a.printCheck(len(files), problems, notes)
		},
	}
}

// notesOf is what an operator should know about a hook.
func (a *app) notesOf(f hookfile.File) (notes []note) {
	for _, name := range f.Hook.Secrets() {
		if a.Opts.Getenv(secret.Variable(name)) == "" {
			notes = append(notes, note{f.Path, "the secret " + name + " is not set here; set " + secret.Variable(name) + " for the server"})
		}
	}
	if name := f.Hook.ID.Header; name != "" {
		notes = append(notes, note{f.Path, "no signature covers the header " + name + ", so anyone with a signed delivery can have it act again"})
	}
	return notes
}

func (a *app) printCheck(files int, problems []agentfile.Problem, notes []note) error {
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"problems": problems, "notes": notes}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			if err := a.Print(display.Clean(p.String()) + "\n"); err != nil {
				return err
			}
		}
		for _, n := range notes {
			if err := a.Print(display.Clean(n.File+": note: "+n.Note) + "\n"); err != nil {
				return err
			}
		}
	}
	if len(problems) > 0 {
		return cmdline.Fail(cmdline.ExitFailed, "invalid_files", display.Counted(len(problems), "error")+" in "+display.Counted(files, "hook file"))
	}
	if a.JSON {
		return nil
	}
	return a.Printf("%s: OK\n", display.Counted(files, "hook"))
}

// listed is one hook as the list shows it.
type listed struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Tenant string `json:"tenant,omitempty"`
	Scheme string `json:"scheme,omitempty"`
	Does   string `json:"does,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List hook files",
		Long:    "List the hook files with the address of each, how its deliveries are signed, and what it does.",
		Example: "  dormouse hooks list",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			files, err := a.load()
			if err != nil {
				return err
			}
			rows := []listed{}
			for _, f := range files {
				row := listed{Name: f.Name, Path: "/v1/hooks/" + f.Name, Tenant: f.Hook.Tenant, Scheme: f.Hook.Verify.Word(), Does: f.Hook.Does()}
				if f.Err != nil {
					row = listed{Name: f.Name, Error: f.Err.Error()}
				}
				rows = append(rows, row)
			}
			if a.JSON {
				return a.PrintJSON(rows)
			}
			table := [][]string{{"NAME", "ADDRESS", "SIGNED", "DOES"}}
			for _, row := range rows {
				first, _, _ := strings.Cut(row.Error, "\n")
				table = append(table, []string{row.Name, row.Path, row.Scheme, display.Clean(cmp.Or(row.Does, first))})
			}
			return a.List(table, 3)
		},
	}
}
