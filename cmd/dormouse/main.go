// Command dormouse is the program a person uses: it runs agents on this machine, and it talks to a server that runs them.
// Everything it does is in package cli; this is where the program's tools and its version come from.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	nightshift "github.com/dormouse-dev/dormouse/examples/night-shift"
	refunddesk "github.com/dormouse-dev/dormouse/examples/refund-desk"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, cmdline.Options{
		Version:       version,
		Register:      register,
		RegisterHooks: func(r *hook.Registry, _ string) error { return nightshift.RegisterHooks(r) },
	})
	stop()
	os.Exit(code)
}

// register adds the tools of the examples, so that they run as they are.
func register(r *tool.Registry, data string) error {
	return errors.Join(refunddesk.Register(r, data), nightshift.Register(r))
}
