package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
)

// decideFlags are the flags of decide.
type decideFlags struct {
	approve, deny     bool
	result, errorText string
	arguments, grant  string
	reason, id, shown string
	hold              time.Duration
	dryRun            bool
}

func (a *app) decideCommand() *cobra.Command {
	var v decideFlags
	cmd := &cobra.Command{
		Use:   "decide {RUN [TARGET] | TARGET TARGET...}",
		Short: "Approve, deny or answer a waiting call",
		Long: `Approve, deny or answer a waiting call. TARGET is a suspension id, as shown by approvals.
You can omit it if the run has exactly one waiting call. The first decision wins:
repeating it is confirmed, a different one is refused.

With --approve, the call runs as shown. Add --arguments to run it with edited arguments,
which must match the tool's parameters. The changes are printed before they are sent:
- marks what the model asked for, + marks what will run.

With --dry-run, nothing is sent. The arguments are checked against the tool's
parameters, but not against permissions, which only the server can check.

With --grant run, later calls in this turn that match the same rule are approved too.

With --hold 10s, the decision counts at once, but takes effect after 10 seconds. Until
then, you can take it back with the withdraw command that is printed.

Several TARGETs, up to 20 of any runs, are approved or denied alike. The command shows every
value and sends nothing. Repeat it with the --shown that it prints: if the calls are still
the same, each is decided. Calls with the same alike (see approvals --json) go together.

To continue an interrupted run, use resume.`,
		Example: `  dormouse decide run_3k7q2_0 --approve
  dormouse decide run_3k7q2_0 sus_2_x7f3 --deny --reason "the photos show no damage"
  dormouse decide run_3k7q2_0 --approve --arguments '{"order":"A-17","amount":80}'
  dormouse decide run_3k7q2_0 --approve --arguments @edited.json --dry-run
  dormouse decide run_3k7q2_0 --approve --hold 10s
  dormouse decide run_3k7q2_0 --result '{"temperature":21}'
  dormouse decide sus_2_x7f3 sus_4_k2m9 --approve --hold 10s`,
		Args: takesCalls,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := v.decision()
			if err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			if areCalls(args) {
				return a.decideSeveral(cmd.Context(), c, args, v, d)
			}
			return a.decide(cmd.Context(), c, args, d, v.dryRun)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&v.approve, "approve", false, "approve: the call runs")
	flags.BoolVar(&v.deny, "deny", false, "deny: the call doesn't run, and the model is notified")
	flags.StringVar(&v.result, "result", "", "answer with this `JSON` as the call's result; add --approve if it could be read as a yes or a no")
	flags.StringVar(&v.errorText, "error", "", "answer that the call failed with this error `TEXT`")
	flags.StringVar(&v.arguments, "arguments", "", "with --approve: run with these arguments, a `JSON` object or @FILE")
	flags.StringVar(&v.grant, "grant", "", "with --approve: `SCOPE` of the approval; run: also later calls in this turn that match the same rule")
	flags.StringVar(&v.reason, "reason", "", "reason `TEXT`, which the model sees")
	flags.StringVar(&v.id, "id", "", "decision id, an idempotency `KEY`: the same id is the same decision")
	flags.StringVar(&v.shown, "shown", "", "`FINGERPRINT` of what you reviewed (see approvals --json); refused if a call has changed")
	flags.DurationVar(&v.hold, "hold", 0, "time until the decision takes effect, from 1s to 60s; until then, it can be withdrawn")
	flags.BoolVar(&v.dryRun, "dry-run", false, "show the decision without sending it")
	return cmd
}

// decide sends a decision on the call that args name: a run, and optionally a suspension.
func (a *app) decide(ctx context.Context, c *client.Client, args []string, d wire.Decision, dryRun bool) error {
	var asked waiting
	var err error
	if len(args) == 2 {
		d.Target = args[1]
	} else if asked, err = a.onlyPending(ctx, c, args[0]); err != nil {
		return err
	} else {
		d.Target = asked.Suspension.ID
	}
	if dryRun {
		return a.dryRun(ctx, c, args[0], d)
	}
	if d.Arguments != nil && !a.JSON {
		if asked.Suspension.ID == "" {
			asked = pendingOf(ctx, c, args[0], d.Target)
		}
		if err := a.printEdits(asked, d.Arguments); err != nil {
			return err
		}
	}
	answer, err := c.Decide(ctx, args[0], d)
	if err != nil {
		return err
	}
	return a.printAnswer(answer)
}

// pendingOf looks up a waiting call, to show the changes. If it can't be found, the server refuses
// the decision.
func pendingOf(ctx context.Context, c *client.Client, run, target string) waiting {
	shown, err := c.Run(ctx, run)
	if err != nil {
		return waiting{}
	}
	return waitingIn(shown, target)
}

// waiting is a waiting call and the agent of its run.
type waiting struct {
	agent string
	wire.Pending
}

// waitingIn is the waiting call of a run that a decision is on; empty if there is none.
func waitingIn(run wire.Run, target string) waiting {
	for _, p := range run.Pending {
		if p.Suspension.ID == target || p.CallID == target {
			return waiting{cmdline.Asker(run.Agent, p), p}
		}
	}
	return waiting{}
}

// printEdits shows how edited arguments differ from the requested ones.
func (a *app) printEdits(asked waiting, arguments json.RawMessage) error {
	if asked.Suspension.ID == "" {
		return nil
	}
	changes := display.Diff(asked.Arguments, arguments)
	if len(changes) == 0 {
		return a.Printf("the arguments are the same as those requested for %s\n", display.Spelled(asked.Tool))
	}
	colour := display.ScreenOf(a.Stdout, a.Opts.Getenv).Colour
	out := display.Clean(display.Spelled(asked.Tool)+" will run with edited arguments:") + "\n"
	if asked.agent == ask.Agent { // which runs nothing
		out = "will be approved with edited arguments:\n"
	}
	for _, l := range changes {
		out += l.Render(colour) + "\n"
	}
	return a.Print(out)
}

// decision turns the flags into a decision without a target. A result or an error alone has no
// action: the server decides what it means for this call, so that no result is taken for an
// approval by accident.
func (v decideFlags) decision() (wire.Decision, error) {
	result, err := cmdline.JsonFlag("--result", v.result)
	if err != nil {
		return wire.Decision{}, err
	}
	arguments, err := cmdline.JsonOrFile("--arguments", v.arguments)
	if err != nil {
		return wire.Decision{}, err
	}
	if v.hold < 0 || v.hold > holds.Most*time.Second || v.hold%time.Second != 0 {
		return wire.Decision{}, cmdline.Usagef("--hold is %v; it must be whole seconds from 1s to %ds", v.hold, holds.Most)
	}
	d := wire.Decision{DecisionID: v.id, Result: result, Error: v.errorText, Arguments: arguments, Grant: v.grant, Reason: v.reason, Shown: v.shown,
		Hold: int(v.hold / time.Second)}
	said := v.said()
	switch {
	case !v.approve && (v.arguments != "" || v.grant != ""):
		return wire.Decision{}, cmdline.Usagef("--arguments and --grant need --approve")
	case len(said) == 0:
		return wire.Decision{}, cmdline.Usagef("use one of --approve, --deny, --result JSON and --error TEXT")
	case len(said) > 1 && (v.deny || v.errorText != ""):
		return wire.Decision{}, cmdline.Usagef("use only one of %s", strings.Join(said, " and "))
	case v.deny:
		d.Action = "cancel"
	case v.approve:
		d.Action = "resume"
	}
	return d, nil
}

// said are the given flags that decide a call.
func (v decideFlags) said() (flags []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--approve", v.approve}, {"--deny", v.deny}, {"--result", v.result != ""}, {"--error", v.errorText != ""}} {
		if f.given {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// onlyPending is the run's one waiting call.
func (a *app) onlyPending(ctx context.Context, c *client.Client, id string) (waiting, error) {
	run, err := c.Run(ctx, id)
	if refused, is := errors.AsType[*client.Error](err); is && refused.Code == "role_required" {
		f := a.Refused(refused) // the role decide is enough if nothing has to be read
		f.Detail += "; or pass TARGET, the suspension id"
		return waiting{}, f
	}
	if err != nil {
		return waiting{}, err
	}
	run.Pending = slices.DeleteFunc(run.Pending, func(p wire.Pending) bool { return p.Kind == "interrupt" })
	switch len(run.Pending) {
	case 0:
		return waiting{}, cmdline.Fail(cmdline.ExitFailed, "not_suspended", cmp.Or(a.held(ctx, c, run),
			fmt.Sprintf("%s has no call to decide; its status is %s", id, cmdline.StatusText(run))))
	case 1:
		return waiting{cmdline.Asker(run.Agent, run.Pending[0]), run.Pending[0]}, nil
	}
	return waiting{}, cmdline.Usagef("%s has several waiting calls; add the id of one: %s", id, pendingIDs(run.Pending))
}

// printAnswer shows the response to a decision. A refusal is a failure.
func (a *app) printAnswer(answer wire.DecisionAnswer) error {
	if answer.Status >= http.StatusBadRequest {
		return cmdline.Fail(cmdline.ExitFailed, answer.Code, cmdline.Refusal(answer.Code, answer.Detail, answer.Winner)+cmdline.FlagsFor[answer.Code])
	}
	if a.JSON {
		return a.PrintJSON(answer)
	}
	words := "accepted"
	if answer.Code == "already_decided" {
		words = "already decided in the same way"
	}
	if answer.Applied != nil && !*answer.Applied {
		words += "; no effect, the run was cancelled first"
	}
	if err := a.Printf("%s: %s\n", words, answer.Target); err != nil || answer.AppliesAt == nil {
		return err
	}
	return a.Table([][]string{
		{"takes effect", display.Clock(*answer.AppliesAt)},
		{"withdraw", a.Command("withdraw " + scaffold.ShellWord(answer.Target) + " " + scaffold.ShellWord(answer.DecisionID))},
	})
}
