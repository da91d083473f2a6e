// Package bench is the command that measures what steps and runs cost on this machine.
package bench

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// flags are those of the command, as they are given.
type flags struct {
	steps, results, approvals, runs []string
	cross                           bool
	measure.Options
}

// Command returns the command for a program.
func Command(a *cmdline.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a step and a run cost on this machine",
		Long: `Run agents with a scripted model in this process and count what each step costs: flushes
of the disk, SQL statements, bytes written, CPU and time. No network is used, and the
temporary store is removed.

Each of --steps, --results, --approvals and --runs is a list. The first values are one
case. Each other value makes a case with the first values of the other lists, or with
--cross, with all of them. Cases take turns, --rounds times; figures are medians.

A step is a request to the model and the tool calls that it leads to. STEP is the time
from one request until the next, DECISION the time from sending a decision until the next
request, and RUN that of a whole run. COMMITS gives the time before it as a multiple of a
raw commit: a row of 1 KB, written to the same disk with the same durability in between.
Costs per step include starts, decisions and housekeeping, such as copying the log.

With --dynamodb, the functions of a stack are measured instead, in this process. Units
are as the server reports them; the list price includes the time of the step function.`,
		Example: `  dormouse bench
  dormouse bench --steps 1000,10,100,10000 --rounds 5
  dormouse bench --steps 10,100 --approvals 0,2,all --runs 1,16 --cross --json
  dormouse bench --dynamodb http://127.0.0.1:8000 --cold --rounds 1`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd.Flags().Changed); err != nil {
				return err
			}
			return run(cmd.Context(), a, f.Options)
		},
	}
	cmd.AddCommand(sleepersCommand(a), fairCommand(a))
	set := cmd.Flags()
	set.StringSliceVar(&f.steps, "steps", []string{"10", "100", "1000"}, "`NUMBERS` of steps per run")
	set.StringSliceVar(&f.results, "results", []string{"2000", "200", "20000"}, "`BYTES` of each tool result")
	set.StringSliceVar(&f.approvals, "approvals", []string{"2", "0", "all"}, "`NUMBERS` of approvals per run, or all")
	set.StringSliceVar(&f.runs, "runs", []string{"1", "4", "16", "64"}, "`NUMBERS` of runs at once")
	set.BoolVar(&f.cross, "cross", false, "measure every combination")
	set.IntVar(&f.Rounds, "rounds", 3, "measurements of each case")
	set.Uint64Var(&f.Seed, "seed", 1, "random seed for the tool results")
	set.StringVar(&f.Dir, "dir", "", "`DIR` on the disk to measure (default: for temporary files)")
	set.StringVar(&f.DynamoDB, "dynamodb", "", "`URL` of a local server that speaks DynamoDB's protocol")
	set.BoolVar(&f.Cold, "cold", false, "with --dynamodb: begin each step in a new process")
	set.IntVar(&f.Lambda.MemoryMB, "memory", 128, "with --dynamodb: memory of the step function in `MB`")
	set.DurationVar(&f.Lambda.Model, "model-time", 3*time.Second, "with --dynamodb: time until a model answers, for the list price")
	return cmd
}

// read checks the flags and makes the cases.
func (f *flags) read(given func(flag string) bool) error {
	for _, flag := range []string{"cold", "memory", "model-time"} {
		if f.DynamoDB == "" && given(flag) {
			return cmdline.Usagef("--%s needs --dynamodb URL", flag)
		}
	}
	if f.DynamoDB != "" && given("dir") {
		return cmdline.Usagef("--dir is the disk of the embedded store; remove it or --dynamodb")
	}
	if u, err := url.Parse(f.DynamoDB); f.DynamoDB != "" && (err != nil || u.Host == "") {
		return cmdline.Usagef("--dynamodb is %q; use the URL of a server, such as http://127.0.0.1:8000", f.DynamoDB)
	}
	if err := cmp.Or(cmdline.AtLeastOne("--memory", f.Lambda.MemoryMB), cmdline.AtLeastOne("--rounds", f.Rounds), notNegative("--model-time", f.Lambda.Model)); err != nil {
		return err
	}
	return f.cases()
}

// notNegative refuses a duration that no model takes.
func notNegative(flag string, d time.Duration) error {
	if d < 0 {
		return cmdline.Usagef("%s is %s; it must be at least 0s", flag, d)
	}
	return nil
}

func (f *flags) cases() error {
	steps, err1 := numbers("--steps", f.steps, 1)
	results, err2 := numbers("--results", f.results, 0)
	approvals, err3 := numbers("--approvals", f.approvals, 0)
	runs, err4 := numbers("--runs", f.runs, 1)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	for i, s := range steps {
		for j, size := range results {
			for k, asked := range approvals {
				for l, n := range runs {
					shape := workload.Shape{Steps: s, Result: size, Approvals: asked, Runs: n}
					if others := min(i, 1) + min(j, 1) + min(k, 1) + min(l, 1); others > 1 && !f.cross {
						continue
					}
					if err := shape.Check(); err != nil {
						return cmdline.Usagef("%v", err)
					}
					f.Shapes = append(f.Shapes, shape)
				}
			}
		}
	}
	return nil
}

// numbers reads the list of a flag.
func numbers(flag string, texts []string, least int) (all []int, err error) {
	for _, text := range texts {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case flag == "--approvals" && text == "all":
			n = workload.All
		case err != nil || n < least:
			return nil, cmdline.Usagef("%s has %q; use numbers of at least %d", flag, text, least)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, cmdline.Usagef("%s is empty; use numbers of at least %d", flag, least)
	}
	return all, nil
}

func run(ctx context.Context, a *cmdline.App, o measure.Options) error {
	p := a.Progress()
	if p != nil {
		p.Unit = "steps"
		o.Progress = func(done, of int) { p.At(done, of, "") }
	}
	report, err := measure.Run(ctx, o)
	p.End()
	return show(a, report, err, draw)
}

// show prints what a benchmark measured, as JSON or as it is drawn, unless it failed.
func show[R any](a *cmdline.App, report R, err error, draw func(R) string) error {
	switch {
	case err != nil:
		return failed(err)
	case a.JSON:
		return a.PrintJSON(report)
	}
	return a.Print(draw(report))
}

// failed is the error of a benchmark. The servers that it calls are its own or that of --dynamodb,
// so an error of one says nothing about the server at --url.
func failed(err error) error {
	if _, ok := errors.AsType[*cmdline.Failure](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	return cmdline.Fail(cmdline.ExitFailed, "failed", err.Error())
}
