package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/fair"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func fairCommand(a *cmdline.App) *cobra.Command {
	var o fair.Options
	cmd := &cobra.Command{
		Use:   "fair",
		Short: "Measure a tenant's runs while another tenant floods the server",
		Long: `Start a server, and measure how long the runs of a small tenant take, from the first
start until all have been approved and have ended: alone, and while a large tenant sends
starts or decisions as fast as they are answered, or has waiting runs that are all due.
Each measurement has a new store; they take turns, --rounds times, and figures are
medians. All files are temporary.`,
		Example: `  dormouse bench fair
  dormouse bench fair --due 1000000 --model 2s --dir /mnt/big --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(cmdline.AtLeastOne("--starts", o.Starts), cmdline.AtLeastOne("--decisions", o.Decisions), cmdline.AtLeastOne("--due", o.Due),
				cmdline.AtLeastOne("--rounds", o.Rounds), cmdline.AtLeastOne("--runs", o.Runs), cmdline.AtLeastOne("--hands", o.Hands), notNegative("--model", o.Model)); err != nil {
				return err
			}
			return runFair(cmd.Context(), a, o)
		},
	}
	set := cmd.Flags()
	set.IntVar(&o.Starts, "starts", 10_000, "runs that the large tenant starts")
	set.IntVar(&o.Decisions, "decisions", 10_000, "decisions of the large tenant")
	set.IntVar(&o.Due, "due", 100_000, "runs of the large tenant that are due")
	set.IntVar(&o.Rounds, "rounds", 5, "measurements of each")
	set.IntVar(&o.Runs, "runs", 10, "runs of the small tenant, at once")
	set.IntVar(&o.Hands, "hands", 32, "requests of the large tenant at once")
	set.DurationVar(&o.Model, "model", 100*time.Millisecond, "how long the model takes, as `DURATION`")
	set.Uint64Var(&o.Seed, "seed", 1, "random seed for ids")
	set.StringVar(&o.Dir, "dir", "", "`DIR` on the disk to measure (default: for temporary files)")
	return cmd
}

func runFair(ctx context.Context, a *cmdline.App, o fair.Options) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	o.Program = []string{program}
	p := a.Progress()
	o.Progress = func(done, of int) { p.At(done, of, "") }
	report, err := fair.Run(ctx, o)
	p.End()
	return show(a, report, err, drawFair)
}

func drawFair(r fair.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %s, %s; medians of %s\n", r.Machine.OS, r.Machine.Arch, display.Counted(r.Machine.CPUs, "CPU"), r.Machine.Go, display.Counted(r.Rounds, "round"))
	fmt.Fprintf(&b, "\n%s of a small tenant with a model that takes %d ms: until all have ended, in ms, and as a multiple of the time alone\n",
		display.Counted(r.Runs, "run"), r.ModelMS)
	rows := [][]string{{"FLOOD", "SIZE", "ALL RUNS", "LEAST", "MOST", "ANSWERED MEANWHILE"}}
	for _, c := range r.Cases {
		growth := cmp.Or(c.Growth, new(measure.Range))
		rows = append(rows, []string{c.Flood, display.Thousands(c.Size), grown(c.All, *growth), number(c.All.Least), number(c.All.Most), display.Thousands(int(c.Answered.Median))})
	}
	b.WriteString(table(rows))
	return b.String()
}
