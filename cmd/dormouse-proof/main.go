// Command dormouse-proof tests Dormouse: it runs recordings again and compares, and kills a server
// under load. It is built beside dormouse and is not released.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/commands"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := commands.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, cmdline.Options{Version: version})
	stop()
	os.Exit(code)
}
