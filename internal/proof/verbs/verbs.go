// Package verbs has the verbs that test Dormouse itself, replay and torture, and the program that they belong to. What people install
// does not link them.
package verbs

import (
	"context"
	"io"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// app is one invocation of the program, for the verbs of this package.
type app struct{ *cmdline.App }

// Main runs the command that args name (without the program's name) until it is finished or ctx ends, and returns
// the exit code, as [cmdline.App.Execute] does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts cmdline.Options) int {
	opts.Name = "dormouse-proof"
	a := &app{cmdline.New(stdin, stdout, stderr, opts)}
	root := a.Root("Test Dormouse with recordings, kills and faults", `Both verbs look for broken promises: replay runs recorded conversations again and compares them, torture kills a server
again and again under load. The server is this machine's dormouse program, or one that runs elsewhere.`)
	root.AddCommand(a.replayCommand(), a.tortureCommand())
	return a.Execute(ctx, root, args)
}
