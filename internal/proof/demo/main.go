// Command demo shows that a run survives a crash of its server. It starts the server and a run,
// waits for the approval request, kills the server, restarts it on the same data, approves, and
// checks that exactly one refund was issued. It uses the HTTP API, as any caller does. The server
// is the program of the example refund-desk.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
)

// limit is how long the whole demo may take.
const limit = 2 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.binary, "bin", "bin/refund-desk", "the program of the example refund-desk")
	flag.StringVar(&o.agents, "agents", "examples/refund-desk", "directory of the agent")
	flag.Parse()
	o.out = os.Stdout

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := demo(ctx, o)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo: failed:", err)
		os.Exit(1)
	}
	fmt.Println("demo: ok")
}

type options struct {
	binary, agents string
	out            io.Writer
}

// demo plays the story in a directory that it removes.
func demo(ctx context.Context, o options) (err error) {
	data, err := os.MkdirTemp("", "dormouse-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()

	s := story{options: o, data: data}
	defer func() { err = errors.Join(err, s.server.stop()) }()
	return s.play(ctx)
}

// ledger is where the example's issue_refund writes.
func ledger(data string) refunddesk.Ledger {
	return refunddesk.Ledger{Path: filepath.Join(data, refunddesk.LedgerFile)}
}
