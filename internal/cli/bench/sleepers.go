package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/sleepers"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func sleepersCommand(a *cmdline.App) *cobra.Command {
	var waiting []string
	var o sleepers.Options
	cmd := &cobra.Command{
		Use:   "sleepers",
		Short: "Measure a server beside many waiting runs",
		Long: `Fill a store with runs that wait for an approval, each with a deadline and a reminder.
Start a server on it, and measure decisions, the inbox, a sweep, the start, memory and
disk space. The stores take turns, --rounds times; figures are medians. All files are
temporary. A waiting run takes about 1.5 KB.

DECISION is the time from sending a decision until the next request to the model, SWEEP
that of a look for due runs that finds none, START that from starting the server until
its first answer, and MEMORY is resident.`,
		Example: `  dormouse bench sleepers
  dormouse bench sleepers --waiting 1000,100000,1000000 --dir /mnt/big --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Waiting, err = numbers("--waiting", waiting, sleepers.Least); err != nil {
				return err
			}
			if err := cmp.Or(cmdline.AtLeastOne("--rounds", o.Rounds), cmdline.AtLeastOne("--decisions", o.Decisions)); err != nil {
				return err
			}
			return runSleepers(cmd.Context(), a, o)
		},
	}
	set := cmd.Flags()
	set.StringSliceVar(&waiting, "waiting", []string{"1000", "100000"}, "`NUMBERS` of waiting runs, one store each")
	set.IntVar(&o.Rounds, "rounds", 5, "measurements of each store")
	set.IntVar(&o.Decisions, "decisions", 50, "decisions in each round")
	set.Uint64Var(&o.Seed, "seed", 1, "random seed for ids")
	set.BoolVar(&o.Cold, "cold", false, "drop the file from the system's cache before each measurement but the start (Linux)")
	set.StringVar(&o.Dir, "dir", "", "`DIR` on the disk to measure (default: for temporary files)")
	return cmd
}

func runSleepers(ctx context.Context, a *cmdline.App, o sleepers.Options) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	o.Program = []string{program}
	p := a.Progress()
	o.Progress = func(what string, done, of int) {
		if p != nil && p.Unit != what {
			p.End()
			p = a.Progress()
			p.Unit = what
		}
		p.At(done, of, "")
	}
	report, err := sleepers.Run(ctx, o)
	p.End()
	return show(a, report, err, drawSleepers)
}

// drawSleepers returns the report as tables.
func drawSleepers(r sleepers.Report) string {
	var b strings.Builder
	cache := "warm"
	if r.Cold {
		cache = "cold"
	}
	fmt.Fprintf(&b, "%s/%s, %s, %s, %s cache; medians of %s\n", r.Machine.OS, r.Machine.Arch, display.Counted(r.Machine.CPUs, "CPU"), r.Machine.Go, cache, display.Counted(r.Rounds, "round"))
	b.WriteString("\nTimes in ms, and as multiples of those in the first store\n")
	b.WriteString(table(waits(r)))
	b.WriteString("\nBytes of the database per waiting run\n")
	b.WriteString(table(space(r)))
	return b.String()
}

func waits(r sleepers.Report) [][]string {
	rows := [][]string{{"WAITING", "DECISION", "INBOX PAGE 1", "PAGE 100", "SWEEP", "START", "MEMORY"}}
	for _, c := range r.Cases {
		var g sleepers.Growth
		if c.Growth != nil {
			g = *c.Growth
		}
		memory := "-"
		if c.Memory != nil {
			memory = size(c.Memory.Median)
		}
		rows = append(rows, []string{display.Thousands(c.Waiting), grown(c.Decision, g.Decision), grown(c.FirstPage, g.FirstPage),
			grown(c.DeepPage, g.DeepPage), grown(c.Sweep, g.Sweep), number(c.Start.Median), memory})
	}
	return rows
}

func grown(r, more measure.Range) string {
	if more.Median == 0 {
		return number(r.Median)
	}
	return fmt.Sprintf("%s (×%.2f)", number(r.Median), more.Median)
}

// least is the share of a store below which a table has no column of its own.
const least = 0.01

func space(r sleepers.Report) [][]string {
	rows := [][]string{{"WAITING", "ALL"}}
	last := r.Cases[len(r.Cases)-1] // of small ones, what a store has once counts
	names := slices.SortedFunc(maps.Keys(last.Space), func(x, y string) int {
		return cmp.Or(cmp.Compare(last.Space[y], last.Space[x]), cmp.Compare(x, y))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return last.Space[name] < least*last.Bytes })
	for _, name := range names {
		rows[0] = append(rows[0], strings.ToUpper(name))
	}
	rows[0] = append(rows[0], "OTHERS")
	for _, c := range r.Cases {
		row, others := []string{display.Thousands(c.Waiting), number(c.Bytes)}, c.Bytes
		for _, name := range names {
			row = append(row, number(c.Space[name]))
			others -= c.Space[name]
		}
		rows = append(rows, append(row, number(others)))
	}
	return rows
}
