package agents

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

func (a *app) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Generate tools from an MCP server or an OpenAPI document",
		Long: `Generate the tools section of an agent file from an MCP server or an OpenAPI document.
Review the output, remove the tools that the agent must not call, and paste the rest
into the agent file. The tools are pinned with the agent's version: if the server adds
tools later, the agent doesn't get them.`,
		Example: `  dormouse tools mcp https://tools.example.com/mcp --name crm --header 'Authorization: Bearer {secret:CRM_TOKEN}'
  dormouse tools openapi orders.yaml --only listOrders,getOrder --server https://orders.example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmdline.NoArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.toolsMCPCommand(), a.toolsOpenAPICommand())
	return cmd
}

// printFragment prints the tools, and on stderr what was skipped. It fails if there are no tools.
func (a *app) printFragment(f *toolimport.Fragment) error {
	if f.LeftOut == nil {
		f.LeftOut = []toolimport.LeftOut{}
	}
	if len(f.Tools) == 0 {
		return a.nothingImported(f)
	}
	if a.JSON {
		return a.PrintJSON(f)
	}
	text, err := f.YAML()
	if err != nil {
		return err
	}
	if err := a.Print(string(text)); err != nil {
		return err
	}
	for _, l := range f.LeftOut {
		fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", display.Clean(l.Name), display.Clean(l.Reason))
	}
	fmt.Fprintf(a.Stderr, "%s printed, %d skipped\n", display.Counted(len(f.Tools), "tool"), len(f.LeftOut))
	return nil
}

func (a *app) nothingImported(f *toolimport.Fragment) error {
	var reasons []string
	for _, l := range f.LeftOut {
		reasons = append(reasons, fmt.Sprintf("%s: %s", l.Name, l.Reason))
	}
	if len(reasons) == 0 {
		return cmdline.Fail(cmdline.ExitFailed, "nothing_imported", "there are no tools to print")
	}
	return cmdline.Fail(cmdline.ExitFailed, "nothing_imported", "no tool could be printed:\n"+strings.Join(reasons, "\n"))
}
