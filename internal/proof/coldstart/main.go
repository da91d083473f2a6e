// Command coldstart measures what the step function costs to start. It compares it with a baseline
// that makes the same requests with the same clients of the SDK: go run ./internal/proof/coldstart.
// With -memory it measures how much memory and time steps take in conversations of several sizes,
// with the share of a CPU that Lambda gives to functions of several sizes.
//
// Everything runs on this machine: the doubles of the table, the queues and the model, and the
// runtime API. Figures depend on the machine; the ratio hardly does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const module = "github.com/dormouse-dev/dormouse"

func main() {
	starts := flag.Int("starts", 40, "starts of each program")
	memory := flag.Bool("memory", false, "measure memory and time of steps in conversations of several sizes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *starts, *memory)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, starts int, memory bool) (err error) {
	dir, err := os.MkdirTemp("", "dormouse-coldstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if memory {
		return remember(ctx, out, w, dir)
	}
	return compare(ctx, out, w, dir, starts)
}
