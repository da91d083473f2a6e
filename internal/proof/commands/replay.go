package commands

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

// replayArgs are what the flags of replay say beside what is replayed and how rough.
type replayArgs struct {
	generate int
	executor string
	agentsTo string
	target   string
	atOnce   int
	rate     float64 // of faults on the way to the target
}

func (a *app) replayCommand() *cobra.Command {
	var o replay.Options
	var to replayArgs
	cmd := &cobra.Command{
		Use:   "replay FILE.jsonl",
		Short: "Replay recorded conversations and compare the results",
		Long: `Replay recorded conversations in this process. Each conversation becomes a thread, and
each user message a run. Recorded turns play the model; recorded results play the tools.
At the end, every transcript is compared with its recording, message by message. The
report goes to standard output, progress to standard error.

The file has one conversation per line, {"id":"...","messages":[...]}, with messages in
the OpenAI chat format. --generate prints such a file with made-up conversations that
contain parallel calls and unusual arguments.

Calls of the tools in --gate need an approval, and are approved as shown. With
--deadlines, --denials and --edits, some of them time out, are denied, or are approved
with edited arguments. The conversation continues as recorded. The results of these
calls are checked against the decision, and the report counts the conversations that
have such calls.

With --through, recorded turns pass through the wire format of a provider. The real
client sends the request. A test double checks it against the conversation and answers
with the recorded turn. --faults then also refuses requests, cuts streams and corrupts
frames; the run must have the same outcome.

With --target, conversations are played against a running server, here or elsewhere. It
needs one agent per conversation: write them with --agents-to, then serve them with
dormouse dev --agents DIR or dormouse agents deploy DIR --keep. Use the same file, --gate
and --limit for both commands. Conversations that an agent file can't express are
skipped, counted and named in the report. If a user message is repeated, or a repeated
call has a different result, a mark is added to tell the two apart; the report counts
the marks. --target-faults sends requests twice, or discards answers and sends the
request again; to inject crashes, kill the server yourself. --deadlines is not available,
because deadlines in an agent file use a real clock and apply to all calls of a tool.

The exit code is 1 if a transcript differs, if a tool that must run at most once ran
twice, or if the outcome of a gated call doesn't match its decision. It is 2 if the file
has another format; the message names the line and the reason.`,
		Example: `  dormouse-proof replay conversations.jsonl
  dormouse-proof replay conversations.jsonl --gate book_flight,send_voucher --faults 0.05 --seed 7
  dormouse-proof replay conversations.jsonl --gate book_flight --edits 0.2 --denials 0.2 --deadlines 0.2 --modes --executor parallel
  dormouse-proof replay conversations.jsonl --through bedrock --faults 0.05
  dormouse-proof replay conversations.jsonl --gate book_flight --agents-to played
  dormouse-proof replay conversations.jsonl --gate book_flight --target http://127.0.0.1:8420 --target-faults 0.1
  dormouse-proof replay --generate 20 --seed 3 > made.jsonl`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReplay(cmd, args, o, to); err != nil {
				return err
			}
			if to.generate > 0 {
				return recording.Write(a.Stdout, recording.Generate(o.Seed, to.generate, recording.GenerateOptions{}))
			}
			o.Parallel = to.executor == "parallel"
			var err error
			if o.Conversations, err = readRecording(args[0]); err != nil {
				return cmdline.Usagef("%v", err)
			}
			a.warnOfGates(o)
			switch {
			case to.agentsTo != "":
				return a.writeReplayAgents(to.agentsTo, o)
			case to.target != "":
				return a.replayAgainst(cmd.Context(), to, o)
			}
			return a.replay(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Gate, "gate", nil, "comma-separated `TOOLS` that need an approval; all others are allowed")
	flags.Float64Var(&o.Faults, "faults", 0, "`RATE` of injected crashes, lost replies, and duplicate or late messages, from 0 to below 1")
	flags.Float64Var(&o.Edits, "edits", 0, "`PROBABILITY` that a gated call is approved with edited arguments, from 0 to 1")
	flags.Float64Var(&o.Denials, "denials", 0, "`PROBABILITY` that a gated call is denied")
	flags.Float64Var(&o.Deadlines, "deadlines", 0, "`PROBABILITY` that a gated call times out; half of these are decided after the deadline")
	flags.BoolVar(&o.Modes, "modes", false, "vary how the decision on a gated call is used: to run it, as its result, or passed to the tool")
	flags.StringVar(&o.Through, "through", "", "call the model through the client of this `PROVIDER`, bedrock or openai, with a test double in this process")
	flags.StringVar(&to.executor, "executor", "sequential", "`MODE` in which the calls of a round run: sequential or parallel")
	flags.Uint64Var(&o.Seed, "seed", 1, "random seed for faults, decisions and generated conversations")
	flags.IntVar(&o.Workers, "workers", 4, "maximum number of steps in progress")
	flags.IntVar(&to.generate, "generate", 0, "print `N` generated conversations instead")
	flags.IntVar(&o.Limit, "limit", 0, "only the first `N` conversations; 0 for all")
	flags.StringVar(&to.agentsTo, "agents-to", "", "write an agent file for each conversation to this `DIR` instead, for --target")
	flags.StringVar(&to.target, "target", "", "`URL` of a running server that has the agents of --agents-to")
	flags.Float64Var(&to.rate, "target-faults", 0,
		"with --target: `RATE` of requests that are sent twice, or whose answer is discarded and the request sent again, from 0 to below 1")
	flags.IntVar(&to.atOnce, "at-once", 8, "with --target: number of conversations played at once")
	return cmd
}

// checkReplay refuses arguments that say nothing, or contradict one another.
func checkReplay(cmd *cobra.Command, args []string, o replay.Options, to replayArgs) error {
	switch {
	case !rate(o.Faults): // not a number, too
		return cmdline.Usagef("--faults is %v; it must be at least 0 and below 1", o.Faults)
	case !rate(to.rate):
		return cmdline.Usagef("--target-faults is %v; it must be at least 0 and below 1", to.rate)
	case !probability(o.Edits), !probability(o.Denials), !probability(o.Deadlines):
		return cmdline.Usagef("--edits, --denials and --deadlines must be between 0 and 1")
	case o.Edits+o.Denials+o.Deadlines > 1+rounding:
		return cmdline.Usagef("the sum of --edits, --denials and --deadlines must be at most 1; each call gets one of them")
	case len(o.Gate) == 0 && (o.Edits+o.Denials+o.Deadlines > 0 || o.Modes):
		return cmdline.Usagef("--edits, --denials, --deadlines and --modes apply to gated calls; name their tools with --gate")
	case to.executor != "sequential" && to.executor != "parallel":
		return cmdline.Usagef("unknown --executor %q; use sequential or parallel", to.executor)
	case cmd.Flags().Changed("through") && o.Through != replay.ThroughBedrock && o.Through != replay.ThroughOpenAI:
		return cmdline.Usagef("unknown --through %q; use %s or %s", o.Through, replay.ThroughBedrock, replay.ThroughOpenAI)
	case o.Limit < 0:
		return cmdline.Usagef("--limit is %d; it must be at least 0", o.Limit)
	case to.generate < 0, (to.generate == 0) == (len(args) == 0):
		return cmdline.Usagef("name a file to replay, or generate one with --generate N")
	}
	if err := cmp.Or(cmdline.AtLeastOne("--workers", o.Workers), cmdline.AtLeastOne("--at-once", to.atOnce)); err != nil {
		return err
	}
	return checkTarget(cmd, to)
}

// playsNothing is why a flag of a replay does not go with --agents-to.
const playsNothing = "can't be combined with --agents-to, which plays nothing"

// misplaced are the flags that say nothing in a manner of replay, and why.
var misplaced = map[string]map[string]string{
	"": {"target-faults": "needs --target; without it, use --faults", "at-once": "needs --target; without it, use --workers"},
	"target": {
		"faults":    "can't be combined with --target; use --target-faults, and kill the server yourself",
		"deadlines": "can't be combined with --target: a deadline in an agent file applies to all calls of a tool and uses a real clock",
		"modes":     "can't be combined with --target: an agent file sets how decisions are used for all calls of a tool",
		"through":   "can't be combined with --target: the agents of --agents-to have scripted models",
		"workers":   "can't be combined with --target; set it on the server",
		"executor":  "can't be combined with --target; pass it with --agents-to",
		"generate":  "can't be combined with --target; it prints a file and plays nothing",
	},
	"agents-to": {
		"target": "can't be combined with --agents-to; write the agents first, serve them, then use --target", "generate": "can't be combined with --agents-to; it prints a file and writes no agents",
		"faults": playsNothing, "through": playsNothing, "deadlines": playsNothing, "modes": playsNothing, "workers": playsNothing, "edits": playsNothing,
		"denials": playsNothing, "target-faults": playsNothing, "at-once": playsNothing,
	},
}

func checkTarget(cmd *cobra.Command, to replayArgs) error {
	manner := ""
	switch {
	case to.agentsTo != "":
		manner = "agents-to"
	case to.target != "":
		manner = "target"
	}
	for _, name := range slices.Sorted(maps.Keys(misplaced[manner])) {
		if cmd.Flags().Changed(name) {
			return cmdline.Usagef("--%s %s", name, misplaced[manner][name])
		}
	}
	return nil
}

// rounding is what a sum of probabilities that make 1 may be above it.
const rounding = 1e-9

// rate is false for what is not a number, too.
func rate(p float64) bool { return p >= 0 && p < 1 }

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
			a.Warn("gate_unused", fmt.Sprintf("--gate %s: no recorded call uses this tool", name))
		}
	}
}

// replay plays the conversations and shows what came out.
func (a *app) replay(ctx context.Context, o replay.Options) error {
	p := a.Progress()
	if p != nil {
		p.Unit = "conversations"
		o.Progress = func(done, total int) { p.At(done, total, "") }
	}
	report, err := replay.Run(ctx, o)
	p.End()
	if err != nil {
		return err
	}
	if err := a.printReport(report); err != nil {
		return err
	}
	if !report.OK() {
		return cmdline.Fail(cmdline.ExitFailed, "mismatch", report.Verdict())
	}
	return nil
}

func (a *app) printReport(report replay.Report) error {
	if a.JSON {
		return a.PrintJSON(report)
	}
	return a.Printed(report.Print)
}
