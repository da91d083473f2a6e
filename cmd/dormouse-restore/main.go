// Command dormouse-restore moves a stack on AWS to a table that is restored from its point-in-time
// backup. docs/guides/deploy-on-aws.md says when and how.
//
//	go run ./cmd/dormouse-restore stop --stack NAME
//	go run ./cmd/dormouse-restore restore --to TABLE [--at TIME]
//	... deploy with ExistingTable=TABLE ...
//	go run ./cmd/dormouse-restore start --table TABLE
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/restore"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "restore:", err)
		os.Exit(1)
	}
}

const usage = `usage:
  dormouse-restore stop --stack NAME            stops the functions of a stack, and waits until none is running
  dormouse-restore restore --to TABLE           restores its table into another one, as it was when the stack stopped
                   [--at 2026-11-29T10:00:00Z]  or at another time
  dormouse-restore start --table TABLE          starts the functions again, if all of them have that table
Each also takes --state FILE, which keeps what was stopped (default: stopped.json).
`

// options are those of all commands.
type options struct{ stack, to, at, table, state string }

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("restore", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { fmt.Fprint(out, usage) }
	f.StringVar(&o.stack, "stack", "", "")
	f.StringVar(&o.to, "to", "", "")
	f.StringVar(&o.at, "at", "", "")
	f.StringVar(&o.table, "table", "", "")
	f.StringVar(&o.state, "state", "stopped.json", "")
	if len(args) == 0 {
		f.Usage()
		return errors.New("say stop, restore or start")
	}
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("the AWS configuration cannot be read: %w", err)
	}
	d := restore.Drill{Lambda: lambda.NewFromConfig(c), Tables: dynamodb.NewFromConfig(c), Now: time.Now, Wait: wait,
		Save: func(s restore.Stopped) error { return os.WriteFile(o.state, core.Encode(s), 0o600) },
		Say:  func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }}
	return o.carryOut(ctx, d, args[0])
}

func (o options) carryOut(ctx context.Context, d restore.Drill, command string) error {
	stopped, err := o.read()
	if command == "stop" && errors.Is(err, fs.ErrNotExist) {
		stopped, err = nil, nil
	}
	switch {
	case err != nil:
		return err
	case command == "stop" && stopped == nil && o.stack == "":
		return errors.New("--stack is missing; set it to the name of the stack")
	case command == "stop" && stopped != nil && o.stack != "" && o.stack != stopped.Stack:
		return fmt.Errorf("%s is of the stack %s; name another file with --state", o.state, stopped.Stack)
	case command == "stop":
		_, err := d.Stop(ctx, o.stack, stopped)
		return err
	case command == "restore" && o.to != "":
		at, err := moment(o.at)
		if err != nil {
			return err
		}
		return d.Restore(ctx, *stopped, o.to, at)
	case command == "start" && o.table != "":
		if err := d.Start(ctx, *stopped, o.table); err != nil {
			return err
		}
		return os.Remove(o.state)
	}
	return fmt.Errorf("%q is not a command, or lacks a flag\n%s", command, usage)
}

func (o options) read() (*restore.Stopped, error) {
	text, err := os.ReadFile(o.state)
	if err != nil {
		return nil, fmt.Errorf("reading what was stopped: %w", err)
	}
	var s restore.Stopped
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", o.state, err)
	}
	return &s, nil
}

func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--at is %q; use the form 2026-11-29T10:00:00Z", text)
	}
	return at, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
