package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// intakeFlags are the flags of enqueue.
type intakeFlags struct {
	data, tenant                    string
	keepGoing                       bool
	status                          bool
	showDead, retryDead, forgetDead bool
}

func (a *app) enqueueCommand() *cobra.Command {
	var f intakeFlags
	cmd := &cobra.Command{
		Use:   "enqueue FILE",
		Short: "Queue runs from a file",
		Long: `Add runs to the intake queue of a data directory. FILE has one run per line; - reads
standard input. Each line is the body of POST /v1/runs plus an idempotency_key:

  {"idempotency_key":"invoice-1001","agent":"invoice-check","input":"Check invoice 1001"}

A server that uses the directory starts the runs within a second, or when it is started.
Each key starts one run, even if it is sent twice, here or over HTTP. If anything fails,
run the same command again.

All lines are checked before any is stored. If a line is invalid, it is reported with its
number, nothing is stored, and the exit code is 2. With --keep-going, the valid lines are
stored and the exit code is 1.

A message that the server can't start, for example because the agent doesn't exist,
becomes a dead letter. See --status, --dead, --retry-dead and --forget-dead.`,
		Example: `  dormouse enqueue invoices.jsonl
  make-invoices | dormouse enqueue - --data /var/lib/dormouse
  dormouse enqueue --status
  dormouse enqueue --dead`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(noServer(cmd), f.check(args)); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.letters(cmd.Context(), f)
			}
			return a.enqueue(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", ".dormouse", "data `DIR` of the server")
	flags.StringVar(&f.tenant, "tenant", access.Tenant, "`TENANT` of the runs")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "skip invalid lines and store the others")
	flags.BoolVar(&f.status, "status", false, "show how many messages are waiting and how many are dead letters")
	flags.BoolVar(&f.showDead, "dead", false, "like --status, and list each dead letter with its reason")
	flags.BoolVar(&f.retryDead, "retry-dead", false, "put all dead letters back into the queue")
	flags.BoolVar(&f.forgetDead, "forget-dead", false, "delete all dead letters")
	return cmd
}

// noServer refuses the flags for a server. They would be ignored, and a local directory would be
// created instead.
func noServer(cmd *cobra.Command) error {
	for _, name := range []string{"url", "aws-iam"} {
		if cmd.Flags().Changed(name) {
			return cmdline.Usagef("enqueue writes to a data directory (--data), not to a server, so it doesn't accept --%s; "+
				"for a stack on AWS, send each line to the queue in its output IntakeQueueUrl: "+
				"aws sqs send-message --queue-url INTAKEQUEUEURL --message-body '{\"idempotency_key\":...}'", name)
		}
	}
	return nil
}

func (f intakeFlags) check(args []string) error {
	asked := 0
	for _, on := range []bool{len(args) == 1, f.status, f.showDead, f.retryDead, f.forgetDead} {
		if on {
			asked++
		}
	}
	switch {
	case asked != 1:
		return cmdline.Usagef("pass a file (- for standard input), or exactly one of --status, --dead, --retry-dead and --forget-dead")
	case f.keepGoing && len(args) == 0:
		return cmdline.Usagef("--keep-going needs a file")
	case f.tenant == "":
		return cmdline.Usagef("--tenant is empty; omit it for the tenant %s", access.Tenant)
	}
	if err := access.CheckTenant(f.tenant); err != nil {
		return cmdline.Usagef("--tenant: %v", err)
	}
	return nil
}

// enqueue checks all lines, then stores them. Standard input is copied to a file first.
func (a *app) enqueue(ctx context.Context, name string, f intakeFlags) error {
	file, done, err := a.messages(name)
	if err != nil {
		return err
	}
	defer done()
	e := enqueuing{app: a, flags: f, judge: local.NewMessages(), progress: a.Progress(), agents: map[string]int{}, keys: keyLines{}}
	defer func() { e.progress.End() }()
	if err := e.look(ctx, file); err != nil {
		return err
	}
	if e.bad > 0 && !f.keepGoing {
		return cmdline.Usagef("%s; nothing was enqueued. Fix the lines, or pass --keep-going to skip them", e.badLines())
	}
	if e.good+e.bad == 0 {
		a.Warn("no_lines", e.holdsNothing(name))
		return e.report()
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := e.store(ctx, file); err != nil {
		return err
	}
	e.progress.End()
	return e.report()
}

// messages opens the file, or copies standard input to one, because lines are read twice.
func (a *app) messages(name string) (file *os.File, done func(), err error) {
	if name != "-" {
		file, err = os.Open(name)
		if err != nil {
			return nil, nil, cmdline.Usagef("cannot read the file: %v", err)
		}
		if at, err := file.Stat(); err != nil || at.Mode().IsRegular() {
			return file, func() { file.Close() }, err
		}
		defer file.Close() // a pipe cannot be read twice either
		return spool(file)
	}
	return spool(a.Stdin)
}

func spool(from io.Reader) (*os.File, func(), error) {
	file, err := os.CreateTemp("", "dormouse-enqueue-*.jsonl")
	if err != nil {
		return nil, nil, err
	}
	done := func() {
		file.Close()
		os.Remove(file.Name())
	}
	if _, err = io.Copy(file, from); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("reading the input failed, so nothing was enqueued: %w", err)
	}
	return file, done, nil
}

// holdsNothing reports an empty file, which a failed export may have left.
func (e *enqueuing) holdsNothing(name string) string {
	if name == "-" {
		return "standard input is empty, so nothing was enqueued; check whether the command that writes it failed"
	}
	return name + " is empty, so nothing was enqueued; check whether the command that writes it failed"
}

// report prints what was done. Skipped lines are a failure, because the caller has to fix them.
func (e *enqueuing) report() error {
	if e.app.JSON {
		if err := e.app.PrintJSON(map[string]any{"enqueued": e.stored, "bad": e.bad, "tenant": e.flags.tenant, "data": e.flags.data}); err != nil {
			return err
		}
	} else if err := e.app.Printf("%d in the intake queue of %s\nstatus: %[3]s enqueue --status%[4]s\nserver: %[3]s dev --data %[5]s\n",
		e.stored, e.flags.data, e.app.Typed(), e.flags.again(), scaffold.ShellWord(e.flags.data)); err != nil {
		return err
	}
	if e.bad > 0 {
		return cmdline.Fail(cmdline.ExitFailed, "bad_lines", e.badLines()+" and skipped; fix them and enqueue the file again (runs that are already queued are not started twice)")
	}
	return nil
}

// cut adds to an error how many messages were stored before it.
func (e *enqueuing) cut(err error) error {
	if e.stored == 0 {
		return err
	}
	code, what := "failed", err.Error()
	if errors.Is(err, context.Canceled) {
		code, what = "interrupted", "interrupted"
	}
	return cmdline.Fail(cmdline.ExitFailed, code, fmt.Sprintf("%s; %d of %d runs are in the queue. Enqueue the same file again; no run is started twice",
		what, e.stored, e.good))
}
