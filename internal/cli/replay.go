package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/recording"
	"github.com/dormouse-dev/dormouse/internal/replay"
)

func (a *app) replayCommand() *cobra.Command {
	var o replay.Options
	var generate int
	var executor string
	cmd := &cobra.Command{
		Use:   "replay FILE.jsonl",
		Short: "Run recorded conversations again and compare, with crashes if asked for",
		Long: `Run recorded conversations again in this process: each becomes a thread, each user message a run. The recorded turns
are the model and the recorded results are the tools. At the end every transcript is compared with its recording, message by message.
Exits with 1 on any mismatch, if a tool that must run at most once ran twice, or if a gated call did not come to what was decided about it,
and with 2 if the file is not of this form, naming the line and the reason. The report goes to standard output, progress to standard error. With --generate it makes up conversations,
with parallel calls and odd arguments, and prints them as such a file.

Gated calls are approved as they are shown. With --deadlines, --denials and --edits, some of them are not: nobody answers before the
deadline, or the answer is no, or other arguments are approved. The recording goes on as it was recorded; the results of such calls are held
to what was decided, and the report says in how many conversations there were any.

The file holds one conversation a line: {"id":"...","messages":[...]}, messages in the OpenAI chat format.`,
		Example: `  dormouse replay conversations.jsonl
  dormouse replay conversations.jsonl --gate book_flight,send_voucher --faults 0.05 --seed 7
  dormouse replay conversations.jsonl --gate book_flight --edits 0.2 --denials 0.2 --deadlines 0.2 --modes --executor parallel
  dormouse replay --generate 20 --seed 3 > made.jsonl`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !(o.Faults >= 0 && o.Faults < 1): // not a number, too
				return usagef("--faults is a rate from 0 to below 1, not %v", o.Faults)
			case !probability(o.Edits), !probability(o.Denials), !probability(o.Deadlines):
				return usagef("--edits, --denials and --deadlines are probabilities, from 0 to 1")
			case o.Edits+o.Denials+o.Deadlines > 1+rounding:
				return usagef("--edits, --denials and --deadlines are together at most 1: one thing becomes of a call")
			case len(o.Gate) == 0 && (o.Edits+o.Denials+o.Deadlines > 0 || o.Modes):
				return usagef("--edits, --denials, --deadlines and --modes are about gated calls; name their tools with --gate")
			case executor != "sequential" && executor != "parallel":
				return usagef("--executor is sequential or parallel, not %q", executor)
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
			o.Parallel = executor == "parallel"
			var err error
			if o.Conversations, err = readRecording(args[0]); err != nil {
				return usagef("%v", err)
			}
			a.warnOfGates(o)
			return a.replay(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Gate, "gate", nil, "tools that need an approval, with commas between them; all others are allowed")
	flags.Float64Var(&o.Faults, "faults", 0, "how often a crash, a lost reply or a doubled or late message is injected, from 0 to below 1")
	flags.Float64Var(&o.Edits, "edits", 0, "how likely a gated call is approved with edited arguments, from 0 to 1")
	flags.Float64Var(&o.Denials, "denials", 0, "how likely it is denied")
	flags.Float64Var(&o.Deadlines, "deadlines", 0, "how likely nobody answers before its deadline; half of these are answered after it")
	flags.BoolVar(&o.Modes, "modes", false, "vary how the decision on a gated call is used: to run it, as its result, or handed to its body")
	flags.StringVar(&executor, "executor", "sequential", "how the calls of a round run: sequential or parallel")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the faults, the decisions, or of what --generate makes up")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may be worked on at once")
	flags.IntVar(&generate, "generate", 0, "print so many made-up conversations instead")
	flags.IntVar(&o.Limit, "limit", 0, "only the first so many conversations; 0 for all")
	return cmd
}

// rounding is what a sum of probabilities that make 1 may be above it.
const rounding = 1e-9

func probability(p float64) bool { return p >= 0 && p <= 1 }

func readRecording(file string) ([]recording.Conversation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return recording.Read(f, file)
}

// warnOfGates says which names under --gate no recorded call has: a misspelt one gates nothing.
func (a *app) warnOfGates(o replay.Options) {
	called := map[string]bool{}
	for _, conversation := range o.Conversations {
		for _, m := range conversation.Messages {
			for _, call := range m.Calls {
				called[call.Name] = true
			}
		}
	}
	for _, name := range o.Gate {
		if !called[name] {
			a.warn("gate_unused", fmt.Sprintf("--gate %s: no recorded call is of this tool", name))
		}
	}
}

// replay plays the conversations and shows what came out.
func (a *app) replay(ctx context.Context, o replay.Options) error {
	p := a.progress()
	if p != nil {
		p.unit = "conversations"
		o.Progress = func(done, total int) { p.at(done, total, "") }
	}
	report, err := replay.Run(ctx, o)
	p.end()
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

func (a *app) printReport(report replay.Report) error {
	if a.json {
		return a.printJSON(report)
	}
	return a.printed(report.Print)
}
