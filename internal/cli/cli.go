// Package cli is the dormouse command. The commands for a server, its tokens and its store are
// here; the others are in subpackages. It contains no rules: the server decides what may be
// started, decided or cancelled.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/agents"
	"github.com/dormouse-dev/dormouse/internal/cli/askcmd"
	"github.com/dormouse-dev/dormouse/internal/cli/bench"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/hookcmd"
	"github.com/dormouse-dev/dormouse/internal/cli/inbox"
	"github.com/dormouse-dev/dormouse/internal/cli/jobs"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
	"github.com/dormouse-dev/dormouse/internal/cli/webhookcmd"
)

// Main runs the command that args name (without the program's name) until it is finished or ctx
// ends, and returns the exit code, as [cmdline.App.Execute] does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts cmdline.Options) int {
	a := &app{cmdline.New(stdin, stdout, stderr, opts)}
	return a.Execute(ctx, a.root(), args)
}

// exitCodes is what each exit code means, in the order of their numbers.
var exitCodes = []cmdline.ExitCode{
	{Code: cmdline.ExitOK, Means: []string{
		"success, even if a run is still running or waiting, or was stopped or blocked"}},
	{Code: cmdline.ExitFailed, Means: []string{
		"failure:",
		"run, retry, messages, watch: the run ended in error",
		"ask: the answer is no",
		"decide, withdraw: the server refused",
		"webhooks test: the endpoint didn't accept the notice",
		"agents check, agents test: there are errors or failed tests",
		"agents diff: a waiting run is affected",
		"doctor: there is damage, a check of a stack failed, or not everything was checked",
		"enqueue --keep-going: invalid lines were skipped",
		"new: a file already exists",
		"dev, serve: the server could not start",
		"any command but ask: the server returned an error, or the command was interrupted"}},
	{Code: cmdline.ExitUsage, Means: []string{
		"usage error; nothing was changed:",
		"an unknown command or flag, or a missing argument",
		"a value or a file that is invalid, or that the server rejects as invalid",
		"an agent that doesn't exist",
		"approvals -i without a terminal"}},
	{Code: cmdline.ExitUnreachable, Means: []string{
		"no server answers at the address"}},
	{Code: cmdline.ExitUnanswered, Means: []string{
		"ask: there is no answer:",
		"it timed out, or was cancelled",
		"without --json: it was approved with edited arguments",
		"the server returned an error, or the command was interrupted"}},
}

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

func (a *app) root() *cobra.Command {
	root := a.Root("Run durable AI agents", `Dormouse runs AI agents one step at a time and stores every step. A run that needs an
approval is suspended and uses no memory. The decision resumes it where it stopped.`, exitCodes)
	addGroup(root, "Agent Commands:", agents.Commands(a.App)...)
	addGroup(root, "Run Commands:", append(runs.Commands(a.App), jobs.Commands(a.App)...)...)
	addGroup(root, "Webhook Commands:", append(webhookcmd.Commands(a.App), hookcmd.Commands(a.App)...)...)
	addGroup(root, "Approval Commands:", append(inbox.Commands(a.App), askcmd.Commands(a.App)...)...)
	addGroup(root, "Server Commands:", a.devCommand(), a.serveCommand(), a.tokensCommand(), a.doctorCommand(), bench.Command(a.App))
	root.AddCommand(a.completionCommand(root))
	a.completeAll(root)
	a.explainAll(root)
	return root
}

// addGroup adds commands under a heading in the list of commands.
func addGroup(root *cobra.Command, heading string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: heading, Title: heading})
	for _, cmd := range commands {
		cmd.GroupID = heading
	}
	root.AddCommand(commands...)
}
