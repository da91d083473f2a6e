// Command e2e tests the deployment on this machine, without an AWS account. It runs the function
// binaries, the real template and real SDK clients against third-party emulators. Run it in a clone
// of the repository:
//
//	go run ./internal/proof/e2e                    all suites but faults
//	go run ./internal/proof/e2e --only faults --for 10m
//	go run ./internal/proof/e2e servers dynamodb -- go test ./internal/store/dynamo
//
// It ends with one line of counts. The exit code is 1 if a check failed or an emulator could not be
// started. docs/contributing/emulators.md lists what the emulators don't support.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/suites"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// What the program exits with.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// options are the command line's.
type options struct {
	only       string
	seed       uint64
	dynamodb   string
	sqs        string
	api        string
	table      string
	intake     string
	intakeDead string
	recordings string
	gate       string
	limit      int
	loadFor    time.Duration
	kills      float64
	faults     suites.Faults
	json       bool
	keep       string
}

func run(ctx context.Context, args []string, out, progress io.Writer) int {
	if len(args) > 0 && args[0] == "servers" {
		return runServers(ctx, args[1:], out, progress)
	}
	o, err := read(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(progress, "e2e:", err)
		return exitUsage
	}
	report, err := prove(ctx, o, progress)
	if err != nil {
		fmt.Fprintln(progress, "e2e: could not be carried out:", err)
		fmt.Fprintf(progress, "the same again: --seed %d\n", o.seed)
		return exitFailed
	}
	if err := report.Print(out, o.json); err != nil {
		fmt.Fprintln(progress, "e2e:", err)
		return exitFailed
	}
	if report.Failed > 0 {
		return exitFailed
	}
	return exitOK
}

const help = `Proves on this machine, without an account, that what would be deployed works: the real template, built functions that
are killed, and servers that others wrote. The first run installs these, which takes minutes; what it needs: docs/contributing/emulators.md.

  go run ./internal/proof/e2e [FLAGS]                                      all suites but faults, or those of --only
  go run ./internal/proof/e2e servers [dynamodb|sqs|openid|NAME] -- COMMAND...  COMMAND against each server that stands for the service

`

func read(args []string, progress io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("e2e", flag.ContinueOnError)
	f.SetOutput(progress)
	f.Usage = func() {
		fmt.Fprint(progress, help)
		f.PrintDefaults()
	}
	f.StringVar(&o.only, "only", "", "only these suites, with commas between them: "+strings.Join(suites.Names(), ", "))
	f.Uint64Var(&o.seed, "seed", 0, "of kills, doubled messages and what callers do; what the operating system makes of it is not repeatable (default: another one each time)")
	f.StringVar(&o.dynamodb, "dynamodb", "dynoxide", "dynoxide, moto, or the URL of a server")
	f.StringVar(&o.sqs, "sqs", "elasticmq", "elasticmq, moto, or the URL of a server")
	f.StringVar(&o.api, "api", "", "URL of the HTTP API of a stack that is deployed already, with its token in DORMOUSE_TOKEN; nothing is started or killed then")
	f.StringVar(&o.table, "table", "", "with --api: name of its table")
	f.StringVar(&o.intake, "intake", "", "with --api: URL of its intake queue")
	f.StringVar(&o.intakeDead, "intake-dead", "", "with --api: URL of the dead-letter queue of its intake queue")
	f.StringVar(&o.recordings, "recordings", "", "file of recorded conversations (default: made-up ones)")
	f.StringVar(&o.gate, "gate", "", "tools of the recordings that people are asked about, with commas between them (default: with --recordings\n"+
		suites.GateOfRecordings+",\nwithout "+suites.GateOfMadeUp+")")
	f.IntVar(&o.limit, "limit", 100, "how many of them are played; 0 for all of --recordings")
	f.DurationVar(&o.loadFor, "for", 30*time.Second, "how long the suites torture and faults start new runs")
	f.Float64Var(&o.kills, "kills", 0.03, "how many invocations are killed in the suites torture, faults and replay, from 0 to below 1")
	f.Float64Var(&o.faults.Throttle, "throttle", 0.04, "in the suite faults: share of calls to DynamoDB and SQS that are throttled, from 0 to below 1")
	f.Float64Var(&o.faults.Lose, "lose", 1./12, "in the suite faults: share of calls that are carried out, and not answered")
	f.Float64Var(&o.faults.Double, "double", 0.05, "share of messages that a function gets twice at once, in all suites")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.StringVar(&o.keep, "keep", "", "directory for binaries and logs, which is kept (default: a temporary one, removed if all is well)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q is too much; there are flags only, and the command servers", f.Arg(0))
	case !rate(o.kills):
		return o, fmt.Errorf("--kills is a rate from 0 to below 1, not %v", o.kills)
	case !rate(o.faults.Throttle) || !rate(o.faults.Lose) || !rate(o.faults.Double):
		return o, errors.New("--throttle, --lose and --double are rates from 0 to below 1")
	case o.loadFor <= 0:
		return o, fmt.Errorf("--for is a time such as 30s, not %s", o.loadFor)
	case o.limit < 0 || o.limit == 0 && o.recordings == "":
		return o, fmt.Errorf("--limit is a number from 1, or 0 for all of --recordings, not %d", o.limit)
	case o.api != "" && o.table == "":
		return o, errors.New("--api needs --table, where agents are deployed to")
	case o.api == "" && o.table+o.intake+o.intakeDead != "":
		return o, errors.New("--table, --intake and --intake-dead go with --api")
	}
	if err := suites.Known(o.names()); err != nil {
		return o, err
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	return o, nil
}

// rate says whether a share makes sense.
func rate(share float64) bool { return share >= 0 && share < 1 }

func (o options) names() []string {
	if o.only == "" {
		return nil
	}
	return strings.Split(o.only, ",")
}
