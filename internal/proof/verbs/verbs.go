// Package verbs has the verbs that test Dormouse itself, replay and torture, and the program that
// they belong to. What people install does not link them.
package verbs

import (
	"context"
	"io"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const exitCodes = `  0  done as asked, and every promise was kept
  1  it failed: a recording was played to another end, the server answered with an error or could not
     start, or the command was interrupted
  2  wrong usage: unknown command or flag, missing argument, a file that is no recording;
     nothing was changed
  3  no server answers at the address
  4  torture found a promise broken: something that was acknowledged is not there,
     is there twice, or ran without an approval`

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Main runs the command that args name (without the program's name) until it is finished or ctx
// ends, and returns the exit code, as [cmdline.App.Execute] does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts cmdline.Options) int {
	opts.Name = "dormouse-proof"
	a := &app{cmdline.New(stdin, stdout, stderr, opts)}
	root := a.Root("Test Dormouse with recordings, kills and faults", `Both verbs look for broken promises: replay runs recorded conversations again and compares them, torture kills a server
again and again under load. The server is this machine's dormouse program, or one that runs elsewhere.`, exitCodes)
	root.AddCommand(a.replayCommand(), a.tortureCommand())
	return a.Execute(ctx, root, args)
}
