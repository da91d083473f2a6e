package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

func (a *app) tortureCommand() *cobra.Command {
	var o torture.Options
	var agentsTo, service, program string
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Kill a server repeatedly and check that nothing is lost",
		Long: `Start a dormouse server on a temporary directory and kill it (SIGKILL) at random moments
while callers start runs, send messages, decide and cancel. Every acknowledged action is
recorded. After the last fault, torture checks that no action was lost or duplicated, and
that no tool ran without permission, with different arguments, or more than once.

With --url, it uses a running server, which you kill yourself; select the agents with
--agent. The callers approve and deny every waiting call, so don't use a server whose
tools have real effects.

With --own, that server has the agents written by --agents-to. With --service, their
tools send requests to your HTTP service: GET /orders/{order} and POST /pay. For each POST
/pay, the service must append one line to the file in --ledger without looking for
repeats, with the request's Idempotency-Key as the key:

  {"key":..., "order":..., "amount":...}

torture then also checks what the tools did, as it does with the server it starts itself.

The exit code is 4 if torture finds a violation. The directory is then kept.`,
		Example: `  dormouse-proof torture --kills 300
  dormouse-proof torture --kills 20 --callers 4 --seed 7 --dir kept
  dormouse-proof torture --url http://127.0.0.1:8420 --agent refund-desk --input "Refund order A-17" --for 1m
  dormouse-proof torture --agents-to tortured --service http://127.0.0.1:9000
  dormouse-proof torture --url http://127.0.0.1:8420 --own --ledger payments.jsonl --for 1m`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agentsTo != "" || service != "" {
				return a.writeTortureAgents(cmd, agentsTo, service)
			}
			return a.torture(cmd, o, program)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Kills, "kills", 50, "number of kills")
	flags.DurationVar(&o.Every, "every", 400*time.Millisecond, "maximum time between kills")
	flags.StringVar(&o.Dir, "dir", "",
		"work in this new or empty `DIR` and keep it (default: a temporary directory, removed on success)")
	flags.StringVar(&program, "bin", "", "dormouse `PROGRAM` to start and kill (default: the one next to this program, then in $PATH)")
	flags.IntVar(&o.Callers, "callers", 24, "number of concurrent callers")
	flags.Uint64Var(&o.Seed, "seed", 0,
		"random seed for actions and their timing; scheduling by the operating system still varies (default: random)")
	flags.DurationVar(&o.Patience, "patience", time.Minute, "maximum time for runs to finish after the last fault")
	flags.StringSliceVar(&o.Agents, "agent", nil, "with --url: comma-separated `AGENTS` to run")
	flags.BoolVar(&o.Own, "own", false, "with --url: run the agents written by --agents-to")
	flags.StringVar(&agentsTo, "agents-to", "", "write the agents for --own to this `DIR` and exit")
	flags.StringVar(&service, "service", "", "with --agents-to: `URL` of the HTTP service that the tools call (default: recorded answers in the agent files)")
	flags.StringVar(&o.Input, "input", "torture", "with --url: `TEXT` to send to the agents; a mark is appended")
	flags.DurationVar(&o.For, "for", 30*time.Second, "with --url: how long to start new runs")
	flags.StringVar(&o.Ledger, "ledger", "", "with --url: `FILE` in which the service records its calls, one JSON object with a key per line")
	return cmd
}

// writeTortureAgents writes the agents for a server that is somebody else's.
func (a *app) writeTortureAgents(cmd *cobra.Command, dir, service string) error {
	if dir == "" {
		return cmdline.Usagef("--service needs --agents-to DIR, which writes the agents that call the service")
	}
	var others string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "agents-to" && f.Name != "service" && f.Name != "json" {
			others = f.Name
		}
	})
	if others != "" {
		return cmdline.Usagef("--agents-to only writes agents; remove --%s", others)
	}
	if err := torture.WriteAgents(dir, service); err != nil {
		return cmdline.Usagef("--agents-to %s: %v", dir, err)
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"dir": dir, "agents": torture.OwnAgents()})
	}
	return a.Printf("%s written to %s; serve them, and torture the server with --own\n", display.Counted(len(torture.OwnAgents()), "agent"), display.Clean(dir))
}

// torture runs one and shows what came out.
func (a *app) torture(cmd *cobra.Command, o torture.Options, program string) error {
	if err := a.checkTorture(cmd, o); err != nil {
		return err
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	o.Session = "torture-" + strings.ToLower(rand.Text()[:10])
	if a.URL != "" {
		var err error
		if o.Client, err = a.Connect(); err != nil {
			return err
		}
		if o.Own {
			o.Agents = torture.OwnAgents()
		}
		if err := cmdline.KnownAgents(cmd.Context(), o.Client, o.Agents); err != nil {
			return err
		}
		return a.tortured(cmd.Context(), o)
	}
	program, err := findProgram(program)
	if err != nil {
		return err
	}
	o.Command = func(data, agents, service string) *exec.Cmd {
		return exec.Command(program, "dev", "--json", "--addr", "127.0.0.1:0", "--data", data, "--agents", agents, "--allow-private-hosts", service)
	}
	if o.Dir != "" {
		return a.tortured(cmd.Context(), o)
	}
	if o.Dir, err = os.MkdirTemp("", "dormouse-torture"); err != nil {
		return err
	}
	err = a.tortured(cmd.Context(), o)
	if f, broken := errors.AsType[*cmdline.Failure](err); !broken || f.Exit != cmdline.ExitBroken {
		err = errors.Join(err, os.RemoveAll(o.Dir))
	}
	return err
}

// findProgram is the dormouse program: the one that was named, or the one beside this program, or
// the one in the path.
func findProgram(named string) (string, error) {
	if named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", cmdline.Usagef("--bin: %v; name a program that make build made", err)
		}
		return filepath.Abs(found)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "dormouse")
		if found, err := exec.LookPath(beside); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath("dormouse")
	if err != nil {
		return "", cmdline.Usagef("there is no dormouse program beside this one or in $PATH; make build makes both, or name it with --bin FILE")
	}
	return filepath.Abs(found)
}

func (a *app) checkTorture(cmd *cobra.Command, o torture.Options) error {
	own := []string{"kills", "every", "dir", "bin"}
	foreign := []string{"agent", "input", "for", "ledger", "own"}
	others, which := foreign, "goes with --url"
	if a.URL != "" {
		others, which = own, "is about a server that this command starts; leave it out with --url"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return cmdline.Usagef("--%s %s", name, which)
		}
	}
	switch {
	case a.URL != "" && !o.Own && len(o.Agents) == 0:
		return cmdline.Usagef("say with --agent what to run, or with --own that the server has the agents of --agents-to")
	case o.Own && (len(o.Agents) > 0 || cmd.Flags().Changed("input")):
		return cmdline.Usagef("--own says what is run; leave --agent and --input out")
	case o.Every <= 0 || o.Patience <= 0 || o.For <= 0:
		return cmdline.Usagef("--every, --patience and --for are times above 0")
	}
	if err := cmp.Or(cmdline.AtLeastOne("--kills", o.Kills), cmdline.AtLeastOne("--callers", o.Callers)); err != nil {
		return err
	}
	return emptyDir(o.Dir)
}

// emptyDir sees to it that the directory is there, with nothing in it. No name is none.
func emptyDir(dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return cmdline.Usagef("%s is not empty", dir)
	}
	return os.MkdirAll(dir, 0o700)
}

func (a *app) tortured(ctx context.Context, o torture.Options) error {
	p := a.Progress()
	o.Progress = tortureProgress(p, o)
	report, err := torture.Run(ctx, o)
	p.End()
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(report)
	} else {
		err = errors.Join(a.Printed(report.Print), a.Printf("the same again, as far as the operating system lets it: --seed %d\n", o.Seed))
	}
	if err != nil || report.Held {
		return err
	}
	detail := fmt.Sprintf("%d promises were broken (seed %d)", len(report.Violations), o.Seed)
	if o.Dir != "" {
		detail += "; everything is kept in " + o.Dir
	}
	return cmdline.Fail(cmdline.ExitBroken, "broken", detail)
}

// tortureProgress tells people how far it is: of the kills, or, if somebody else kills, of the
// time.
func tortureProgress(p *display.Progress, o torture.Options) func(torture.Progress) {
	if p == nil {
		return nil
	}
	p.Unit = "kills"
	if o.Client != nil { // somebody else kills, so the time is what there is to count
		p.Unit = "seconds"
	}
	return func(now torture.Progress) {
		done, of := now.Kills, now.Of
		if of == 0 {
			done, of = min(int(now.Took/time.Second), int(o.For/time.Second)), int(o.For/time.Second)
		}
		p.At(done, of, fmt.Sprintf("%s runs, %s decisions, %s messages", display.Thousands(now.Runs), display.Thousands(now.Decisions), display.Thousands(now.Messages)))
	}
}
