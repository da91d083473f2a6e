// Command dormouse is the program a person uses: it runs agents on this machine, and it talks to a server that runs them.
// Everything it does is in package cli; this is where the program's tools and its version come from.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	refunddesk "github.com/dormouse-dev/dormouse/examples/refund-desk"
	"github.com/dormouse-dev/dormouse/internal/cli"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, cli.Options{
		Version:  version,
		Register: refunddesk.Register, // so that the example runs as it is
	})
	stop()
	os.Exit(code)
}
