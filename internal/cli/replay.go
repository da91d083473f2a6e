package cli

import (
	"context"
	"fmt"
	"os"
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
Exits with 1 on any mismatch, or if a tool that must run at most once ran twice, and with 2 if the file is not of this form, naming
the line and the reason. The report goes to standard output, progress to standard error. With --generate it makes up conversations,
with parallel calls and odd arguments, and prints them as such a file.

The file holds one conversation a line: {"id":"...","messages":[...]}, messages in the OpenAI chat format.`,
		Example: `  dormouse replay conversations.jsonl
  dormouse replay conversations.jsonl --gate book_flight,send_voucher --faults 0.05 --seed 7
  dormouse replay --generate 20 --seed 3 > made.jsonl`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !(o.Faults >= 0 && o.Faults < 1): // not a number, too
				return usagef("--faults is a rate from 0 to below 1, not %v", o.Faults)
			case o.Limit < 0:
				return usagef("--limit is a number from 0, not %d", o.Limit)
			case generate > 0 && len(args) == 0:
				return recording.Write(a.stdout, recording.Generate(o.Seed, generate, recording.GenerateOptions{}))
			case generate != 0 || len(args) == 0:
				return usagef("either name a file to replay, or say --generate N with N from 1 to make one")
			}
			if err := atLeastOne("--workers", o.Workers); err != nil {
				return err
			}
			var err error
			if o.Conversations, err = readRecording(args[0]); err != nil {
				return usagef("%v", err)
			}
			return a.replay(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Gate, "gate", nil, "tools that need an approval, with commas between them; all others are allowed")
	flags.Float64Var(&o.Faults, "faults", 0, "how often a crash, a lost reply or a doubled or late message is injected, from 0 to below 1")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the faults, or of what --generate makes up")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may be worked on at once")
	flags.IntVar(&generate, "generate", 0, "print so many made-up conversations instead")
	flags.IntVar(&o.Limit, "limit", 0, "only the first so many conversations; 0 for all")
	return cmd
}

func readRecording(file string) ([]recording.Conversation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return recording.Read(f, file)
}

// replay plays the conversations and shows what came out.
func (a *app) replay(ctx context.Context, o replay.Options) error {
	o.Progress = a.progress(time.Now())
	report, err := replay.Run(ctx, o)
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
