package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/recording"
	"github.com/dormouse-dev/dormouse/internal/replay"
)

func (a *app) replayCommand() *cobra.Command {
	var o replay.Options
	var generate int
	cmd := &cobra.Command{
		Use:   "replay FILE.jsonl",
		Short: "Run recorded conversations again and compare, with crashes if asked for",
		Long: `Run recorded conversations again in this process: each becomes a thread, each user message a run. The recorded turns
are the model and the recorded results are the tools. At the end every transcript is compared with its recording, message by message.
Exits with 1 on any mismatch, or if a tool that must run at most once ran twice. With --generate it makes up conversations, with
parallel calls and odd arguments, and prints them as such a file.`,
		Example: `  dormouse replay conversations.jsonl
  dormouse replay conversations.jsonl --gate book_flight,send_voucher --faults 0.05 --seed 7
  dormouse replay --generate 20 --seed 3 > made.jsonl`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Faults < 0 || o.Faults >= 1 {
				return usagef("--faults is a rate from 0 to below 1, not %v", o.Faults)
			}
			switch {
			case generate > 0 && len(args) == 0:
				return recording.Write(a.stdout, recording.Generate(o.Seed, generate, recording.GenerateOptions{}))
			case generate != 0 || len(args) == 0:
				return usagef("name a file to replay, or say --generate N to make one")
			}
			o.File = args[0]
			o.Progress = a.progress(time.Now())
			report, err := replay.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := a.printReport(report); err != nil {
				return err
			}
			if !report.OK() {
				return &failure{ExitFailed, "mismatch", report.Verdict()}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Gate, "gate", nil, "tools that need an approval, with commas between them; all others are allowed")
	flags.Float64Var(&o.Faults, "faults", 0, "how often a crash, a lost reply or a doubled or late message is injected, from 0 to below 1")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the faults")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may be worked on at once")
	flags.IntVar(&generate, "generate", 0, "print so many made-up conversations instead")
	flags.IntVar(&o.Limit, "limit", 0, "only the first so many conversations; 0 for all")
	return cmd
}

// progress tells people, on a line of its own every tenth of the way, how far a replay is.
func (a *app) progress(began time.Time) func(done, total int) {
	if a.json {
		return nil
	}
	return func(done, total int) {
		if step := max(total/10, 1); done%step == 0 || done == total {
			took := time.Since(began)
			left := took / time.Duration(done) * time.Duration(total-done)
			fmt.Fprintf(a.stderr, "%d of %d conversations, %s left\n", done, total, left.Round(time.Second))
		}
	}
}

func (a *app) printReport(report replay.Report) error {
	if a.json {
		return a.printJSON(report)
	}
	return report.Print(a.stdout)
}
