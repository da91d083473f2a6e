// Package bench is the command that measures what steps and runs cost on this machine.
package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"

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
		Long: `Run agents with a scripted model in this process, and count what each step costs: flushes
of the disk, SQL statements, bytes written, CPU and time. Nothing uses a network, and a
temporary store is removed at the end.

Each of --steps, --results, --approvals and --runs is a list. The first values are one
case; each further value is another case with the first values of the other lists. With
--cross, every combination is a case. Cases take turns, --rounds times. Each figure is a
median of the rounds.

Around each case, the command also measures raw commits: rows of 1 KB in another database
on the same disk, with the same durability. Compare machines by multiples of them.`,
		Example: `  dormouse bench
  dormouse bench --steps 1000,10,100,10000 --rounds 5
  dormouse bench --steps 10,100 --approvals 0,2,all --runs 1,16 --cross --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(); err != nil {
				return err
			}
			return run(cmd.Context(), a, f.Options)
		},
	}
	set := cmd.Flags()
	set.StringSliceVar(&f.steps, "steps", []string{"10", "100", "1000"}, "`NUMBERS` of steps per run; the last step is the answer, and each of the others calls a tool")
	set.StringSliceVar(&f.results, "results", []string{"2000", "200", "20000"}, "sizes of a tool result in `BYTES`")
	set.StringSliceVar(&f.approvals, "approvals", []string{"2", "0", "all"}, "`NUMBERS` of calls per run that need an approval, or all")
	set.StringSliceVar(&f.runs, "runs", []string{"1", "4", "16", "64"}, "`NUMBERS` of runs at once")
	set.BoolVar(&f.cross, "cross", false, "measure every combination")
	set.IntVar(&f.Rounds, "rounds", 3, "how often each case is measured")
	set.Uint64Var(&f.Seed, "seed", 1, "random seed for the text of tool results")
	set.StringVar(&f.Dir, "dir", "", "existing `DIR` on the disk to measure (default: the directory for temporary files)")
	return cmd
}

// read checks the flags and makes the cases.
func (f *flags) read() error {
	steps, err1 := numbers("--steps", f.steps, 1)
	results, err2 := numbers("--results", f.results, 0)
	approvals, err3 := numbers("--approvals", f.approvals, 0)
	runs, err4 := numbers("--runs", f.runs, 1)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	if err := cmdline.AtLeastOne("--rounds", f.Rounds); err != nil {
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
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(report)
	}
	return a.Print(draw(report))
}
