package verbs

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
		Short: "Run recorded conversations again and compare, with crashes if asked for",
		Long: `Run recorded conversations again in this process: each becomes a thread, each user message a run. The recorded turns
are the model and the recorded results are the tools. At the end every transcript is compared with its recording, message by message.
Exits with 1 on any mismatch, if a tool that must run at most once ran twice, or if a gated call did not come to what was decided about it,
and with 2 if the file is not of this form, naming the line and the reason. The report goes to standard output, progress to standard error. With --generate it makes up conversations,
with parallel calls and odd arguments, and prints them as such a file.

Gated calls are approved as they are shown. With --deadlines, --denials and --edits, some of them are not: nobody answers before the
deadline, or the answer is no, or other arguments are approved. The recording goes on as it was recorded; the results of such calls are held
to what was decided, and the report says in how many conversations there were any.

With --through the recorded turns pass the wire of a provider in both directions: the real client asks, a double reads the request, holds it against
the conversation, and answers with the recorded turn in the provider's frames. --faults breaks that wire as well: requests are refused, streams cut,
frames garbled, and the run must come out the same.

With --target the conversations are played against a server that runs, here or elsewhere. It must have an agent for each: --agents-to writes them,
dormouse dev --agents DIR or dormouse agents deploy DIR --keep serves them. Both commands need the same file, --gate and --limit. A conversation that no agent file can
say is not played; the report counts and names it. Where a user says the same twice, or a call is repeated and has another result, a
mark tells the second from the first, and the report counts the marks. Crashes are made by whoever runs the server; --target-faults only
sends requests twice, or throws answers away and sends them again. There is no --deadlines: those of an agent file run on a real clock, and are the same
for all calls of a tool.

The file holds one conversation a line: {"id":"...","messages":[...]}, messages in the OpenAI chat format.`,
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
	flags.StringSliceVar(&o.Gate, "gate", nil, "tools that need an approval, with commas between them; all others are allowed")
	flags.Float64Var(&o.Faults, "faults", 0, "how often a crash, a lost reply or a doubled or late message is injected, from 0 to below 1")
	flags.Float64Var(&o.Edits, "edits", 0, "how likely a gated call is approved with edited arguments, from 0 to 1")
	flags.Float64Var(&o.Denials, "denials", 0, "how likely it is denied")
	flags.Float64Var(&o.Deadlines, "deadlines", 0, "how likely nobody answers before its deadline; half of these are answered after it")
	flags.BoolVar(&o.Modes, "modes", false, "vary how the decision on a gated call is used: to run it, as its result, or handed to its body")
	flags.StringVar(&o.Through, "through", "", "ask the model through the client of a provider, bedrock or openai, which talks to a double of it in this process")
	flags.StringVar(&to.executor, "executor", "sequential", "how the calls of a round run: sequential or parallel")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the faults, the decisions, or of what --generate makes up")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may be worked on at once")
	flags.IntVar(&to.generate, "generate", 0, "print so many made-up conversations instead")
	flags.IntVar(&o.Limit, "limit", 0, "only the first so many conversations; 0 for all")
	flags.StringVar(&to.agentsTo, "agents-to", "", "write an agent file for each conversation into this directory instead, for --target")
	flags.StringVar(&to.target, "target", "", "address of a running server to play against, which has the agents of --agents-to")
	flags.Float64Var(&to.rate, "target-faults", 0,
		"with --target: how often a request is sent twice, or its answer thrown away and the request sent again, from 0 to below 1")
	flags.IntVar(&to.atOnce, "at-once", 8, "with --target: how many conversations are played at the same time")
	return cmd
}

// checkReplay refuses arguments that say nothing, or contradict one another.
func checkReplay(cmd *cobra.Command, args []string, o replay.Options, to replayArgs) error {
	switch {
	case !rate(o.Faults): // not a number, too
		return cmdline.Usagef("--faults is a rate from 0 to below 1, not %v", o.Faults)
	case !rate(to.rate):
		return cmdline.Usagef("--target-faults is a rate from 0 to below 1, not %v", to.rate)
	case !probability(o.Edits), !probability(o.Denials), !probability(o.Deadlines):
		return cmdline.Usagef("--edits, --denials and --deadlines are probabilities, from 0 to 1")
	case o.Edits+o.Denials+o.Deadlines > 1+rounding:
		return cmdline.Usagef("--edits, --denials and --deadlines are together at most 1: one thing becomes of a call")
	case len(o.Gate) == 0 && (o.Edits+o.Denials+o.Deadlines > 0 || o.Modes):
		return cmdline.Usagef("--edits, --denials, --deadlines and --modes are about gated calls; name their tools with --gate")
	case to.executor != "sequential" && to.executor != "parallel":
		return cmdline.Usagef("--executor is sequential or parallel, not %q", to.executor)
	case cmd.Flags().Changed("through") && o.Through != replay.ThroughBedrock && o.Through != replay.ThroughOpenAI:
		return cmdline.Usagef("--through is %s or %s, not %q", replay.ThroughBedrock, replay.ThroughOpenAI, o.Through)
	case o.Limit < 0:
		return cmdline.Usagef("--limit is a number from 0, not %d", o.Limit)
	case to.generate < 0, (to.generate == 0) == (len(args) == 0):
		return cmdline.Usagef("either name a file to replay, or say --generate N with N from 1 to make one")
	}
	if err := cmp.Or(cmdline.AtLeastOne("--workers", o.Workers), cmdline.AtLeastOne("--at-once", to.atOnce)); err != nil {
		return err
	}
	return checkTarget(cmd, to)
}

// playsNothing is why a flag of a replay does not go with --agents-to.
const playsNothing = "goes with a replay, and --agents-to plays nothing"

// misplaced are the flags that say nothing in a manner of replay, and why.
var misplaced = map[string]map[string]string{
	"": {"target-faults": "is for --target; in this process it is --faults", "at-once": "is for --target; in this process it is --workers"},
	"target": {
		"faults":    "is about a store in this process; kill the server yourself, and use --target-faults for the way to it",
		"deadlines": "cannot be played against a server: a deadline in an agent file is for all calls of a tool, and runs on a real clock; leave --target out",
		"modes":     "cannot be played against a server: how a decision is used is said in an agent file for all calls of a tool; leave --target out",
		"through":   "is about the model of a replay in this process; the agents of --agents-to are scripted",
		"workers":   "is the server's to say",
		"executor":  "stands in the agents; give it with --agents-to",
		"generate":  "makes a file and plays nothing",
	},
	"agents-to": {
		"target": "comes after it: write the agents, serve them, then replay against the server", "generate": "makes a file and writes no agents",
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
			a.Warn("gate_unused", fmt.Sprintf("--gate %s: no recorded call is of this tool", name))
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
