// Package command is the dormouse command with the tools, hooks, effects and memories of your program in it: the server for a laptop or a
// machine of your own, and all verbs of a person who uses one. It links the embedded store and everything else a laptop needs; a function
// on AWS is made with packages lambdastep and lambdaapi instead.
package command

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// Main runs the command that the process was started with, and ends the process with its exit code. An interrupt or SIGTERM stops it as
// it should: a server finishes the steps at hand.
func Main(p dormouse.Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, p, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs the command that args name, without the program's name, until it is finished or ctx ends, and returns the exit code, which
// "help exit-codes" explains. Answers go to stdout and what went wrong to stderr. A program that cannot be registered, because two
// of its tools have one name for example, is said by the first command that needs it.
func Run(ctx context.Context, p dormouse.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	bound := binding.New(p)
	return cli.Main(ctx, args, stdin, stdout, stderr, cmdline.Options{
		Version:       cmp.Or(p.Version, "devel"),
		Register:      bound.Tools,
		RegisterHooks: bound.Hooks,
		Control:       bound.Control,
	})
}
