package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func (a *app) completionCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: fmt.Sprintf(`Print a completion script for bash, zsh or fish. It completes commands and flags. If
the server answers within a second, it also completes agent names and run ids.

To load it in every new shell, add this line to the file named beside it:

  bash   source <(%[1]s completion bash)        ~/.bashrc (needs the bash-completion package)
  zsh    source <(%[1]s completion zsh)         ~/.zshrc (after compinit)
  fish   %[1]s completion fish | source         ~/.config/fish/config.fish`, a.Name()),
		Example: fmt.Sprintf(`  %[1]s completion bash > /etc/bash_completion.d/%[1]s
  %[1]s completion fish > ~/.config/fish/completions/%[1]s.fish`, a.Name()),
		Args:      cmdline.Takes(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch out := cmd.OutOrStdout(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return cmdline.Usagef("unknown shell %q; use bash, zsh or fish", args[0])
		},
	}
}

// completeAll adds completion of runs and agents to the commands that take them.
func (a *app) completeAll(root *cobra.Command) {
	words := map[string]func(context.Context, *client.Client) []string{
		"run": cmdline.AgentNames, "runs": runWords(""), "watch": runWords(""), "messages": runWords(""), "decide": runWords("waiting"),
		"interrupt": runWords("running"), "resume": runWords("waiting"), "retry": runWords("done"), "cancel": runWords(""), "record": runWords("done"),
		"link": runWords("waiting"), "links": runWords(""), "revoke": runWords(""),
	}
	for _, cmd := range slices.Concat(root.Commands(), below(root, "runs").Commands(), below(root, "approvals").Commands()) {
		if complete := words[cmd.Name()]; complete != nil {
			a.completes(cmd, complete)
		}
		if cmd.Flags().Lookup("agent") != nil {
			a.completesFlag(cmd, "agent", cmdline.AgentNames)
		}
	}
}

// below is the command of this name; an empty one if there is none.
func below(root *cobra.Command, name string) *cobra.Command {
	for _, cmd := range root.Commands() {
		if cmd.Name() == name {
			return cmd
		}
	}
	return &cobra.Command{}
}

// completionTime is how long completion waits for the server.
const completionTime = time.Second

// completes sets the completion of a command's first argument. If the server doesn't answer or
// refuses the caller, there are no suggestions.
func (a *app) completes(cmd *cobra.Command, words func(context.Context, *client.Client) []string) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.fromServer(cmd, words), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// completesFlag does the same for a flag.
func (a *app) completesFlag(cmd *cobra.Command, flag string, words func(context.Context, *client.Client) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.fromServer(cmd, words), cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for an unknown flag
}

func (a *app) fromServer(cmd *cobra.Command, words func(context.Context, *client.Client) []string) []string {
	c, err := a.Connect()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	found := words(ctx, c)
	for i := range found {
		word, about, described := strings.Cut(found[i], "\t")
		if found[i] = display.Clean(word); described {
			found[i] += "\t" + display.Clean(about)
		}
	}
	return found
}

// runWords are the newest runs, with agent and status for shells that show descriptions.
func runWords(status string) func(context.Context, *client.Client) []string {
	return func(ctx context.Context, c *client.Client) []string {
		page, err := c.RunPage(ctx, client.RunFilter{Status: status, Limit: 50})
		if err != nil {
			return nil
		}
		words := make([]string, len(page.Items))
		for i, run := range page.Items {
			words[i] = cobra.CompletionWithDesc(run.ID, display.OneLine(run.Agent+" "+cmdline.StatusText(run)))
		}
		return words
	}
}
