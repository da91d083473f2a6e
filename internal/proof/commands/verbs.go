// Package commands has the commands that test Dormouse, replay and torture, and the program that
// runs them. The installed program does not include them.
package commands

import (
	"context"
	"io"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// exitCodes is what each exit code means, in the order of their numbers.
var exitCodes = []cmdline.ExitCode{
	{Code: cmdline.ExitOK, Means: []string{
		"success; no violation was found"}},
	{Code: cmdline.ExitFailed, Means: []string{
		"failure:",
		"replay: a conversation differs from its recording",
		"any command: the server returned an error or could not start, or the command was interrupted"}},
	{Code: cmdline.ExitUsage, Means: []string{
		"usage error; nothing was changed:",
		"an unknown command or flag, or a missing argument",
		"a file that is not a recording"}},
	{Code: cmdline.ExitUnreachable, Means: []string{
		"no server answers at the address"}},
	{Code: cmdline.ExitBroken, Means: []string{
		"torture: an acknowledged action was lost or duplicated, or a tool ran without approval"}},
}

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Main runs the command that args name (without the program's name) until it is finished or ctx
// ends, and returns the exit code, as [cmdline.App.Execute] does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts cmdline.Options) int {
	opts.Name = "dormouse-proof"
	a := &app{cmdline.New(stdin, stdout, stderr, opts)}
	root := a.Root("Test Dormouse with recordings, crashes and faults", `Test the guarantees of Dormouse. replay runs recorded conversations again and compares
the results. torture kills a server repeatedly under load. The server is the dormouse
program on this machine, or one that you run elsewhere.`, exitCodes)
	root.AddCommand(a.replayCommand(), a.tortureCommand(), a.doubleCommand())
	return a.Execute(ctx, root, args)
}
